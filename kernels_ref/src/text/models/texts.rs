//! Merges by rank over texts, as llama.cpp does: what they make need not be a token.
//!
//! Such a text falls apart into its scalars: into the tokens of its ASCII characters, or of its
//! bytes; the rest is lost.

use super::merging::{Merges, Symbol};
use super::{Part, Room};
use crate::text::scalars::{length_of, scalars};
use crate::text::symbols::SymbolTable;
use crate::text::vocabulary::NONE;

/// A vocabulary with ranked merges, in which some texts are no tokens.
pub struct Texts<'a> {
    /// The merges.
    pub merges: Merges<'a>,
    /// Ids of texts of one scalar.
    pub scalars: SymbolTable,
    /// Texts with this id or a larger one are no tokens.
    pub real: u32,
    /// A piece that is a token is that token.
    pub whole: bool,
    /// The same of line ends alone.
    pub lines: bool,
    /// Ids of the tokens `<0xHH>`, if it is bytes that a text falls apart into.
    pub raw: Option<Box<[u32; 256]>>,
}

impl Texts<'_> {
    /// The tokens of one piece.
    pub fn tokenize(&self, text: &[u8], room: Room, out: &mut Vec<Part>) {
        if self.whole || (self.lines && text.iter().all(|&byte| byte == b'\n')) {
            if let Some(id) = self.token(text, &room) {
                out.push(Part { id, start: 0, end: text.len() as u32 });
                return;
            }
        }
        let mut symbols = std::mem::take(&mut room.scratch.symbols);
        symbols.clear();
        symbols.extend(scalars(text).map(|(at, code)| {
            let id = self.scalars.get(code).unwrap_or(NONE);
            Symbol { id, size: length_of(text[at]) as u32 }
        }));
        room.scratch.merging.merge(&mut symbols, &self.merges, room.hidden);
        let mut at = 0;
        for symbol in &symbols {
            let size = symbol.size as usize;
            self.write(&text[at..at + size], at as u32, &room, out);
            at += size;
        }
        room.scratch.symbols = symbols;
    }

    /// The token that a text is.
    fn token(&self, text: &[u8], room: &Room) -> Option<u32> {
        self.known(room.find(text))
    }

    fn known(&self, id: Option<u32>) -> Option<u32> {
        id.filter(|&id| id < self.real)
    }

    /// A symbol as tokens.
    fn write(&self, text: &[u8], start: u32, room: &Room, out: &mut Vec<Part>) {
        if let Some(id) = self.token(text, room) {
            out.push(Part { id, start, end: start + text.len() as u32 });
            return;
        }
        for (at, code) in scalars(text) {
            let end = at + length_of(text[at]);
            let part = |id| Part { id, start: start + at as u32, end: start + end as u32 };
            let shown = |id| self.known(room.shown(id)).map(part);
            match &self.raw {
                Some(table) => out.extend(text[at..end].iter().filter_map(|&byte| {
                    shown(Some(table[usize::from(byte)]).filter(|&id| id != NONE))
                })),
                None if code < 0x80 => out.extend(shown(self.scalars.get(code))),
                None => {}
            }
        }
    }
}
