//! Byte-pair merging by rank, then from the left.
//!
//! Short pieces look for the lowest rank again and again; long ones keep a heap, so that merging
//! takes n log n on any text. A waiting merge whose place has changed still counts when its two
//! symbols would make the same token now, as in the source.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::IdSet;
use crate::bytes::u32_at;
use crate::text::vocabulary::{bucket, entry, Vocabulary, NONE};

/// Longest piece that is searched again for every merge.
const SHORT: usize = 40;

/// The merges, in the bytes of the file: rows of left, right, rank, made, found by buckets.
pub struct Merges<'a> {
    /// Rows of sixteen bytes.
    pub rows: &'a [u8],
    /// First row of each bucket.
    pub buckets: &'a [u8],
    /// Logarithm of the number of buckets.
    pub log: u32,
    /// Whether a symbol may have another length than its text; only the heap is exact then.
    pub odd: bool,
}

/// Bucket of a pair.
#[inline]
pub fn pair_bucket(left: u32, right: u32, log: u32) -> usize {
    let mixed = left.wrapping_mul(0x9e37_79b1).wrapping_add(right).wrapping_mul(0x85eb_ca77);
    bucket(mixed, log)
}

impl<'a> Merges<'a> {
    /// The same, odd if a merge makes a text of another length than its parts have.
    pub fn judged(self, vocabulary: &Vocabulary) -> Merges<'a> {
        let mut lengths = vec![0; vocabulary.positions.len() / 4];
        vocabulary.each(|token, id| lengths[id as usize] = token.len());
        let length = |row: &[u8], at| lengths[u32_at(row, at) as usize];
        let sound = |row: &[u8]| length(row, 0) + length(row, 4) == length(row, 12);
        let odd = self.odd || !self.rows.chunks_exact(16).all(sound);
        Merges { odd, ..self }
    }

    /// Rank and token of a pair.
    #[inline]
    pub fn get(&self, left: u32, right: u32, hidden: Option<&IdSet>) -> Option<(u32, u32)> {
        let at = pair_bucket(left, right, self.log);
        let (start, end) = (entry(self.buckets, at) as usize, entry(self.buckets, at + 1) as usize);
        let row = self.rows[16 * start..16 * end]
            .chunks_exact(16)
            .find(|row| u32_at(row, 0) == left && u32_at(row, 4) == right)?;
        let made = u32_at(row, 12);
        match hidden {
            Some(hidden) if hidden.has(made) => None,
            _ => Some((u32_at(row, 8), made)),
        }
    }
}

/// An id and the bytes that it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The token.
    pub id: u32,
    /// Its bytes of the piece.
    pub size: u32,
}

/// Rank, place, and the token made.
type Waiting = Reverse<(u32, u32, u32)>;

/// Memory of merging, kept between pieces.
#[derive(Default)]
pub struct Scratch {
    ranks: Vec<(u32, u32)>,
    before: Vec<u32>,
    after: Vec<u32>,
    heap: Vec<Waiting>,
}

impl Scratch {
    /// Merge all symbols that can be merged.
    pub fn merge(&mut self, symbols: &mut Vec<Symbol>, merges: &Merges, hidden: Option<&IdSet>) {
        if symbols.len() > SHORT || (merges.odd && symbols.len() > 2) {
            self.long(symbols, merges, hidden);
        } else {
            self.short(symbols, merges, hidden);
        }
    }

    fn short(&mut self, symbols: &mut Vec<Symbol>, merges: &Merges, hidden: Option<&IdSet>) {
        let pair = |symbols: &[Symbol], at: usize| {
            let pair = symbols.get(at).zip(symbols.get(at + 1));
            pair.and_then(|(a, b)| merges.get(a.id, b.id, hidden)).unwrap_or((NONE, NONE))
        };
        self.ranks.clear();
        self.ranks.extend((0..symbols.len()).map(|at| pair(symbols, at)));
        loop {
            let mut best = (NONE, 0);
            for (at, &(rank, _)) in self.ranks.iter().enumerate() {
                if rank < best.0 {
                    best = (rank, at);
                }
            }
            let (rank, at) = best;
            if rank == NONE {
                return;
            }
            symbols[at] =
                Symbol { id: self.ranks[at].1, size: symbols[at].size + symbols[at + 1].size };
            symbols.remove(at + 1);
            self.ranks.remove(at + 1);
            self.ranks[at] = pair(symbols, at);
            if at > 0 {
                self.ranks[at - 1] = pair(symbols, at - 1);
            }
        }
    }

    fn long(&mut self, symbols: &mut Vec<Symbol>, merges: &Merges, hidden: Option<&IdSet>) {
        let count = symbols.len() as u32;
        self.before.clear();
        self.before.extend((0..count).map(|at| at.wrapping_sub(1)));
        self.after.clear();
        self.after.extend(1..=count);
        let mut start = std::mem::take(&mut self.heap);
        start.clear();
        for (at, pair) in (0..).zip(symbols.windows(2)) {
            if let Some((rank, made)) = merges.get(pair[0].id, pair[1].id, hidden) {
                start.push(Reverse((rank, at, made)));
            }
        }
        let mut heap = BinaryHeap::from(start);
        while let Some(Reverse((_, at, made))) = heap.pop() {
            self.take(symbols, (at, made), &mut heap, merges, hidden);
        }
        symbols.retain(|symbol| symbol.size != 0);
        self.heap = heap.into_vec();
        if self.heap.capacity() > 1 << 16 {
            // What one long piece needed is not kept for the others.
            *self = Scratch::default();
        }
    }

    /// Carry out one waiting merge if it still holds. A symbol that was merged away has no bytes.
    fn take(
        &mut self,
        symbols: &mut [Symbol],
        (place, made): (u32, u32),
        heap: &mut BinaryHeap<Waiting>,
        merges: &Merges,
        hidden: Option<&IdSet>,
    ) {
        let at = place as usize;
        let right = self.after[at] as usize;
        if symbols[at].size == 0 || right == symbols.len() {
            return;
        }
        let now = merges.get(symbols[at].id, symbols[right].id, hidden);
        if now.map(|(_, made)| made) != Some(made) {
            return;
        }
        symbols[at] = Symbol { id: made, size: symbols[at].size + symbols[right].size };
        symbols[right].size = 0;
        let following = self.after[right];
        self.after[at] = following;
        if let Some(next) = symbols.get(following as usize) {
            self.before[following as usize] = place;
            if let Some((rank, token)) = merges.get(made, next.id, hidden) {
                heap.push(Reverse((rank, place, token)));
            }
        }
        let left = self.before[at];
        if let Some(previous) = symbols.get(left as usize) {
            if let Some((rank, token)) = merges.get(previous.id, made, hidden) {
                heap.push(Reverse((rank, left, token)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of left, right, rank, made, and the starts of their buckets.
    struct Table {
        rows: Vec<u8>,
        buckets: Vec<u8>,
        log: u32,
    }

    impl Table {
        fn new(merges: &[(u32, u32)], first: u32) -> Table {
            let log = 31 - (merges.len() as u32).leading_zeros();
            let mut rows: Vec<[u32; 4]> = (0..)
                .zip(merges)
                .map(|(rank, &(left, right))| [left, right, rank, first + rank])
                .collect();
            rows.sort_by_key(|row| (pair_bucket(row[0], row[1], log), row[0], row[1]));
            let below = |bucket| {
                rows.iter().filter(|row| pair_bucket(row[0], row[1], log) < bucket).count() as u32
            };
            let bytes = |numbers: Vec<u32>| numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
            let buckets = bytes((0..=1 << log).map(below).collect());
            Table { rows: bytes(rows.concat()), buckets, log }
        }

        fn merges(&self) -> Merges<'_> {
            Merges { rows: &self.rows, buckets: &self.buckets, log: self.log, odd: false }
        }
    }

    /// The definition: the lowest rank anywhere, leftmost, until nothing merges.
    fn plain(mut symbols: Vec<Symbol>, merges: &Merges) -> Vec<Symbol> {
        loop {
            let found = (0..symbols.len().saturating_sub(1)).filter_map(|at| {
                let pair = merges.get(symbols[at].id, symbols[at + 1].id, None)?;
                Some((pair.0, at, pair.1))
            });
            let (at, id) = match found.min() {
                Some((_, at, made)) => (at, made),
                None => return symbols,
            };
            symbols[at] = Symbol { id, size: symbols[at].size + symbols[at + 1].size };
            symbols.remove(at + 1);
        }
    }

    #[test]
    fn both_ways_are_the_definition() {
        let mut state = 1u32;
        let mut draw = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        for _ in 0..400 {
            let mut pairs: Vec<(u32, u32)> = Vec::new();
            for made in 4..16 {
                pairs.push((draw(made), draw(made)));
            }
            // A pair has one rank; each merge makes a token of its own.
            let once: Vec<_> = (0..)
                .zip(pairs.clone())
                .filter(|&(i, p)| pairs.iter().position(|&other| other == p) == Some(i))
                .map(|(_, pair)| pair)
                .collect();
            let table = Table::new(&once, 4);
            let length = draw(70);
            let symbols: Vec<_> = (0..length).map(|_| Symbol { id: draw(4), size: 1 }).collect();
            let wanted = plain(symbols.clone(), &table.merges());
            let (mut short, mut long) = (symbols.clone(), symbols);
            Scratch::default().short(&mut short, &table.merges(), None);
            Scratch::default().long(&mut long, &table.merges(), None);
            assert_eq!((&short, &long), (&wanted, &wanted));
        }
    }

    #[test]
    fn hidden_tokens_are_not_made() {
        let table = Table::new(&[(0, 0), (1, 1)], 1);
        let hidden = IdSet::new(vec![2]);
        let mut symbols = vec![Symbol { id: 0, size: 1 }; 100];
        Scratch::default().merge(&mut symbols, &table.merges(), Some(&hidden));
        assert_eq!(symbols, vec![Symbol { id: 1, size: 2 }; 50]);
        Scratch::default().merge(&mut symbols, &table.merges(), None);
        assert_eq!(symbols, vec![Symbol { id: 2, size: 4 }; 25]);
    }
}
