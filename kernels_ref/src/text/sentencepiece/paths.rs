//! Unigram of SentencePiece: the best path in float32, ties to the one found first.
//!
//! Source of facts: Model::EncodeOptimized in unigram_model.cc of sentencepiece 0.2.3.

use super::kinds::{NORMAL, USER_DEFINED};
use super::symbols::longest;
use crate::text::crc32::Crc;
use crate::text::models::{Part, Room};
use crate::text::scalars::{continues, scalar_at};
use crate::text::vocabulary::{entry, Vocabulary, NONE};

/// What an unknown scalar costs below the lowest score.
const PENALTY: f64 = 10.0;
/// A sum beyond this is moved back to 0, with all sums that still count.
const MOVED: f32 = 100_000.0;

/// The best path that ends at a place: its sum, where its last piece begins, and that piece.
#[derive(Clone, Copy)]
pub struct Node {
    sum: f32,
    start: u32,
    id: u32,
}

const NOWHERE: Node = Node { sum: 0.0, start: NONE, id: NONE };

/// Pieces with scores.
pub struct Paths<'a> {
    /// Float32 bits by id.
    scores: &'a [u8],
    kinds: &'a [u8],
    /// Score of an unknown scalar.
    unknown: f32,
    /// Bytes of the longest piece by its first byte.
    longest: Box<[u16; 256]>,
}

impl<'a> Paths<'a> {
    /// Of scores and kinds by id.
    pub fn new(vocabulary: &Vocabulary, scores: &'a [u8], kinds: &'a [u8]) -> Paths<'a> {
        let each = (0..kinds.len()).filter(|&id| kinds[id] == NORMAL);
        let each = each.map(|id| f32::from_bits(entry(scores, id)));
        let lowest = each.reduce(|low, score| if score < low { score } else { low });
        let unknown = (f64::from(lowest.unwrap_or(f32::MAX)) - PENALTY) as f32;
        let longest = longest(vocabulary, |id| is_piece(kinds[id as usize]));
        Paths { scores, kinds, unknown, longest }
    }

    /// A normalized text in pieces; an unknown scalar has no id.
    pub fn segments(&self, text: &[u8], room: &mut Room, out: &mut Vec<Part>) {
        let mut best = std::mem::take(&mut room.scratch.sums);
        best.clear();
        best.resize(text.len() + 1, NOWHERE);
        self.walk(text, room, &mut best);
        let first = out.len();
        let mut end = text.len();
        while end > 0 {
            let Node { start, id, .. } = best[end];
            out.push(Part { id, start, end: end as u32 });
            end = start as usize;
        }
        out[first..].reverse();
        if best.capacity() <= 1 << 16 {
            room.scratch.sums = best;
        }
    }

    fn walk(&self, text: &[u8], room: &Room, best: &mut [Node]) {
        let (mut start, mut frontier) = (0, 0);
        while start < text.len() {
            move_back(best, start, frontier);
            let single = start + scalar_at(text, start).1;
            let most = usize::from(self.longest[usize::from(text[start])]);
            let mut known = false;
            let mut crc = Crc::new();
            for end in start + 1..=text.len().min(start + most) {
                crc = crc.with(text[end - 1]);
                if text.get(end).map_or(false, |&byte| continues(byte)) {
                    continue;
                }
                let found = room.vocabulary.find_hashed(crc.value(), &text[start..end]);
                if let Some(id) = found.filter(|&id| is_piece(self.kinds[id as usize])) {
                    known |= end == single;
                    frontier = frontier.max(end);
                    offer(best, start, end, self.score(id, end - start), id);
                }
            }
            if !known {
                frontier = frontier.max(single);
                offer(best, start, single, self.unknown, NONE);
            }
            start = single;
        }
    }

    /// The score of a piece; a user-defined one has a tenth for each byte but the first.
    fn score(&self, id: u32, length: usize) -> f32 {
        if self.kinds[id as usize] == USER_DEFINED {
            return (0.1 * (length - 1) as f64) as f32;
        }
        f32::from_bits(entry(self.scores, id as usize))
    }
}

fn is_piece(kind: u8) -> bool {
    kind == NORMAL || kind == USER_DEFINED
}

/// A sum that has grown too far is taken off all sums that still count.
fn move_back(best: &mut [Node], start: usize, frontier: usize) {
    let sum = best[start].sum;
    if (-MOVED..=MOVED).contains(&sum) {
        return;
    }
    for (at, node) in best[..=frontier].iter_mut().enumerate().skip(start) {
        if at == start || node.start != NONE {
            node.sum -= sum;
        }
    }
}

/// A piece; it counts if it is the first or better than what was found before.
fn offer(best: &mut [Node], start: usize, end: usize, score: f32, id: u32) {
    let sum = score + best[start].sum;
    let node = &mut best[end];
    if node.start == NONE || sum > node.sum {
        *node = Node { sum, start: start as u32, id };
    }
}
