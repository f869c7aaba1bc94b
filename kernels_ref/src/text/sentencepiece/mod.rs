//! Tokenizers of SentencePiece models, as the library itself runs them (profile 3 of TOK2).
//!
//! A text is normalized as a whole and cut as a whole; what no piece stands for is the unknown piece
//! or its bytes. Source of facts: sentencepiece_processor.cc of sentencepiece 0.2.3.

pub mod decoding;
pub mod kinds;
pub mod merged;
pub mod model;
pub mod normalizer;
pub mod paths;
pub mod symbols;

use self::normalizer::{Normalized, Normalizer};
use super::models::{Part, Room};
use super::state::State;
use super::trace::Tracing;
use super::vocabulary::NONE;
use super::Tokenizer;
use crate::error::Result;

/// What is around the model.
pub struct Sentence<'a> {
    /// What the text goes through.
    pub normalizer: Normalizer<'a>,
    /// The unknown piece.
    pub unknown: u32,
    /// The pieces of bytes, which then stand for all that is unknown.
    pub bytes: Option<Box<[u32; 256]>>,
}

impl Sentence<'_> {
    /// The tokens of a text. One that shares a scalar with the next one ends before it.
    pub fn tokens<T: Tracing>(
        &self,
        owner: &Tokenizer,
        text: &[u8],
        state: &mut State,
        trace: &mut T,
    ) -> Result<()> {
        let normalized = self.normalizer.apply(text, &owner.vocabulary);
        let mut parts = std::mem::take(&mut state.parts);
        parts.clear();
        let room = Room { vocabulary: &owner.vocabulary, hidden: None, scratch: &mut state.model };
        owner.model.tokenize(&normalized.text, room, &mut parts)?;
        trace.whole(owner, &normalized, &parts);
        let mut after_unknown = false;
        for part in &parts {
            trace.require_room()?;
            let unknown = part.id == NONE;
            let [start, end] = span(&normalized, part);
            let piece = &normalized.text[part.start as usize..part.end as usize];
            match (&self.bytes, state.offsets.last_mut()) {
                (Some(bytes), _) if unknown => {
                    for (i, &byte) in piece.iter().enumerate() {
                        // The last byte has the extent, those before have none.
                        let last = i + 1 == piece.len();
                        state.ids.push(bytes[usize::from(byte)]);
                        state.offsets.push([start, if last { end } else { start }]);
                        if T::NOTES {
                            let until = if last { part.end } else { part.start };
                            let name = format!("<0x{:02X}>", byte);
                            trace.part(name.as_bytes(), [part.start, until], false);
                        }
                    }
                }
                (_, Some(last)) if unknown && after_unknown => {
                    last[1] = end;
                    trace.part(piece, [part.start, part.end], true);
                }
                _ => {
                    trace.part(piece, [part.start, part.end], false);
                    state.ids.push(if unknown { self.unknown } else { part.id });
                    state.offsets.push([start, end]);
                }
            }
            after_unknown = unknown;
        }
        if parts.capacity() <= 1 << 16 {
            state.parts = parts;
        }
        Ok(())
    }
}

/// The bytes of the given text that a part came from.
fn span(normalized: &Normalized, part: &Part) -> [u32; 2] {
    [part.start, part.end].map(|at| normalized.origins[at as usize])
}
