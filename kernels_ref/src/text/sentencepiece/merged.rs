//! BPE of SentencePiece: merges by score; a piece that is unused is taken apart again.
//!
//! Source of facts: bpe_model.cc of sentencepiece 0.2.3, without dropout.

use std::collections::HashMap;

use super::kinds::{NORMAL, UNUSED, USER_DEFINED};
use super::symbols::Symbols;
use crate::text::models::{Part, Room};
use crate::text::scalars::length_of;
use crate::text::vocabulary::{entry, NONE};

/// How deep an unused piece is taken apart.
const DEEPEST: u32 = 100;

/// Pieces with scores.
pub struct Merged<'a> {
    /// Float32 bits by id.
    scores: &'a [u8],
    kinds: &'a [u8],
    symbols: Symbols<'a>,
    /// Whether a piece is unused.
    unused: bool,
}

/// Where each unused piece was cut when it could be made last: bytes of its left part.
type Cuts = HashMap<u32, u32>;

impl<'a> Merged<'a> {
    /// Of scores and kinds by id.
    pub fn new(symbols: Symbols<'a>, scores: &'a [u8], kinds: &'a [u8]) -> Merged<'a> {
        Merged { scores, kinds, symbols, unused: kinds.contains(&UNUSED) }
    }

    /// A normalized text in pieces; one that is unknown has no id.
    pub fn segments(&self, text: &[u8], room: &mut Room, out: &mut Vec<Part>) {
        let mut merging = std::mem::take(&mut room.scratch.scored);
        merging.clear();
        let mut at = 0;
        while at < text.len() {
            let symbol = self.symbols.length(room.vocabulary, text, at);
            let length = if symbol > 0 { symbol } else { length_of(text[at]) };
            let end = text.len().min(at + length);
            merging.push(at, end, symbol > 0);
            at = end;
        }
        let mut cuts = Cuts::new();
        merging.merge(|start, cut, end| {
            let id = self.find(&text[start as usize..end as usize], room)?;
            if self.unused && self.kinds[id as usize] == UNUSED {
                cuts.insert(id, cut - start);
            }
            Some(rank(entry(self.scores, id as usize)))
        });
        for span in merging.spans() {
            self.apart(text, span, &cuts, room, out);
        }
        if merging.is_small() {
            room.scratch.scored = merging;
        }
    }

    /// The id of a piece that text may become, if only on the way.
    fn find(&self, text: &[u8], room: &Room) -> Option<u32> {
        let made = |id: &u32| matches!(self.kinds[*id as usize], NORMAL | USER_DEFINED | UNUSED);
        room.vocabulary.find(text).filter(made)
    }

    fn apart(
        &self,
        text: &[u8],
        (start, end): (u32, u32),
        cuts: &Cuts,
        room: &Room,
        out: &mut Vec<Part>,
    ) {
        let mut waiting = vec![(start, end, 0)];
        while let Some((start, end, depth)) = waiting.pop() {
            let id = self.find(&text[start as usize..end as usize], room);
            let unused = id.filter(|&id| self.kinds[id as usize] == UNUSED && depth <= DEEPEST);
            match unused.map(|id| cuts.get(&id)) {
                None => out.push(Part { id: id.unwrap_or(NONE), start, end }),
                Some(None) => out.push(Part { id: NONE, start, end }),
                Some(Some(size)) => {
                    let cut = start + size;
                    waiting.extend([(cut, end, depth + 1), (start, cut, depth + 1)]);
                }
            }
        }
    }
}

/// Float32 bits as a rank, the largest number being the best; -0 comes behind +0, as in the source.
fn rank(bits: u32) -> u32 {
    if bits >> 31 == 0 {
        0x7fff_ffff - bits
    } else {
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::rank;

    #[test]
    fn larger_scores_have_lower_ranks() {
        let scores = [f32::MAX, 2.5, 1e-45, 0.0, -0.0, -1e-45, -3.0, f32::MIN];
        let ranks = scores.map(|score| rank(score.to_bits()));
        assert!(ranks.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
