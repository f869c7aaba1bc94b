//! Pairs of scalars that no merge ever joins: there a long piece can be cut, and its words kept.
//!
//! Two neighbouring symbols become one only by a merge whose left token ends, and whose right token
//! begins, with the scalars at their border. Where no merge has such a pair, what is left of the
//! border never touches what is right of it.

use super::merging::Merges;
use crate::text::scalars::{before, scalar_at};
use crate::text::vocabulary::{entry, Vocabulary};

const FREE: u64 = u64::MAX;

/// The pairs that merges join, in a table of open places.
pub struct Borders {
    places: Vec<u64>,
}

impl Borders {
    /// Look through all merges once.
    pub fn new(merges: &Merges, vocabulary: &Vocabulary) -> Borders {
        let mut ends = vec![(0, 0); vocabulary.positions.len() / 4];
        vocabulary.each(|token, id| {
            if !token.is_empty() {
                let last = before(token, token.len());
                ends[id as usize] = (scalar_at(token, 0).0, scalar_at(token, last).0);
            }
        });
        let pair = |row: &[u8]| {
            let (left, right) = (entry(row, 0) as usize, entry(row, 1) as usize);
            key(ends[left].1, ends[right].0)
        };
        let mut pairs: Vec<u64> = merges.rows.chunks_exact(16).map(pair).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let mut borders = Borders { places: vec![FREE; (2 * pairs.len() + 1).next_power_of_two()] };
        pairs.into_iter().for_each(|pair| {
            let place = borders.place(pair);
            borders.places[place] = pair;
        });
        borders
    }

    /// Where a pair stands, or would.
    fn place(&self, pair: u64) -> usize {
        let mask = self.places.len() - 1;
        let mut place = (pair.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        while self.places[place] != FREE && self.places[place] != pair {
            place = (place + 1) & mask;
        }
        place
    }

    /// Whether a merge may join what ends with one scalar and what begins with another.
    #[inline]
    pub fn joins(&self, left: u32, right: u32) -> bool {
        self.places[self.place(key(left, right))] != FREE
    }
}

fn key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}
