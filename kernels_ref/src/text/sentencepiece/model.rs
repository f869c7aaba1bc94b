//! The four ways in which SentencePiece cuts a normalized text.

use super::kinds::{NORMAL, USER_DEFINED};
use super::merged::Merged;
use super::normalizer::SPACE;
use super::paths::Paths;
use super::symbols::Symbols;
use crate::text::models::{Part, Room};
use crate::text::scalars::length_of;
use crate::text::vocabulary::NONE;

/// A vocabulary of pieces and the way in which it cuts.
pub enum PieceModel<'a> {
    /// The best path.
    Paths(Paths<'a>),
    /// Merges by score.
    Merged(Merged<'a>),
    /// Words that begin with the space; kinds by id.
    Words(&'a [u8]),
    /// Characters and user-defined symbols; kinds by id.
    Characters(&'a [u8], Symbols<'a>),
}

impl PieceModel<'_> {
    /// A normalized text in pieces; one that is unknown has no id.
    pub fn segments(&self, text: &[u8], mut room: Room, out: &mut Vec<Part>) {
        match self {
            PieceModel::Paths(model) => model.segments(text, &mut room, out),
            PieceModel::Merged(model) => model.segments(text, &mut room, out),
            PieceModel::Words(kinds) => {
                whole(text, kinds, &room, out, |at| {
                    let rest = text.get(at + 1..).unwrap_or(b"");
                    let next = rest.windows(SPACE.len()).position(|window| window == SPACE);
                    next.map_or(text.len(), |place| at + 1 + place)
                });
            }
            PieceModel::Characters(kinds, symbols) => {
                whole(text, kinds, &room, out, |at| {
                    let symbol = symbols.length(room.vocabulary, text, at);
                    at + if symbol > 0 { symbol } else { length_of(text[at]) }
                });
            }
        }
    }
}

/// Pieces that end where `end` says, each by itself.
fn whole(
    text: &[u8],
    kinds: &[u8],
    room: &Room,
    out: &mut Vec<Part>,
    end: impl Fn(usize) -> usize,
) {
    let mut at = 0;
    while at < text.len() {
        let until = text.len().min(end(at));
        let id = room.vocabulary.find(&text[at..until]);
        let id = id.filter(|&id| matches!(kinds[id as usize], NORMAL | USER_DEFINED));
        out.push(Part { id: id.unwrap_or(NONE), start: at as u32, end: until as u32 });
        at = until;
    }
}
