//! BPE of SentencePiece: merges by score; a piece that is unused is taken apart again.
//!
//! Source of facts: bpe_model.cc of sentencepiece 0.2.3, without dropout.

use std::collections::HashMap;

use super::kinds::{NORMAL, UNUSED, USER_DEFINED};
use super::normalizer::SPACE;
use super::symbols::Symbols;
use crate::text::cache::Kept;
use crate::text::models::{IdSet, Part, Room};
use crate::text::scalars::{before, length_of, scalar_at};
use crate::text::vocabulary::{entry, Vocabulary, NONE};

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
    /// Scalars that stand before U+2581 within a piece: a text may be cut before it behind others.
    joined: IdSet,
}

/// Where each unused piece was cut when it could be made last: bytes of its left part.
type Cuts = HashMap<u32, u32>;

impl<'a> Merged<'a> {
    /// Of scores and kinds by id.
    pub fn new(vocabulary: &Vocabulary, scores: &'a [u8], kinds: &'a [u8]) -> Merged<'a> {
        let mut joined = Vec::new();
        vocabulary.each(|token, id| {
            if is_made(kinds[id as usize]) {
                joined.extend(spaces(token).map(|at| scalar_at(token, before(token, at)).0));
            }
        });
        Merged {
            scores,
            kinds,
            symbols: Symbols::new(vocabulary, kinds),
            unused: kinds.contains(&UNUSED),
            joined: IdSet::new(joined),
        }
    }

    /// A normalized text in pieces; one that is unknown has no id. Words that no piece joins are cut
    /// by themselves, and kept; where a piece is unused, how it comes apart depends on the whole.
    pub fn segments(&self, text: &[u8], room: &mut Room, out: &mut Vec<Part>) {
        if self.unused {
            return self.merged(text, room, out);
        }
        let mut start = 0;
        for at in spaces(text) {
            if !self.joined.has(scalar_at(text, before(text, at)).0) {
                self.word(text, start, at, room, out);
                start = at;
            }
        }
        self.word(text, start, text.len(), room, out);
    }

    fn word(&self, text: &[u8], start: usize, end: usize, room: &mut Room, out: &mut Vec<Part>) {
        let word = &text[start..end];
        if word.is_empty() {
            return;
        }
        let first = out.len();
        match room.scratch.words.find(word) {
            Kept::Tokens(from, to) => out.extend(room.scratch.words.tokens(from, to)),
            Kept::New(hash) => {
                self.merged(word, room, out);
                room.scratch.words.keep(hash, word, &out[first..]);
            }
            Kept::Long => self.merged(word, room, out),
        }
        for part in &mut out[first..] {
            part.start += start as u32;
            part.end += start as u32;
        }
    }

    fn merged(&self, text: &[u8], room: &mut Room, out: &mut Vec<Part>) {
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
        room.vocabulary.find(text).filter(|&id| is_made(self.kinds[id as usize]))
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

/// Whether text may become a piece of a kind, if only on the way.
fn is_made(kind: u8) -> bool {
    matches!(kind, NORMAL | USER_DEFINED | UNUSED)
}

/// Where U+2581 stands behind the beginning.
fn spaces(text: &[u8]) -> impl Iterator<Item = usize> + '_ {
    (1..text.len()).filter(move |&at| text[at..].starts_with(SPACE))
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
