//! Byte-pair encoding, byte-level or on scalars, with the source's rules for what is not known.

use super::borders::Borders;
use super::merging::{Merges, Symbol};
use super::{no_unknown, IdSet, Part, Room};
use crate::error::Result;
use crate::text::byte_chars::visible;
use crate::text::scalars::{length_of, push, scalars};
use crate::text::symbols::SymbolTable;
use crate::text::vocabulary::NONE;

/// A vocabulary with ranked merges.
pub struct Bpe<'a> {
    /// The merges.
    pub merges: Merges<'a>,
    /// The unknown token, and its id if it has one.
    pub unknown: Option<Option<u32>>,
    /// Unknown neighbours become one.
    pub fuse_unknown: bool,
    /// Ids of the tokens `<0xHH>`, if what is unknown becomes bytes.
    pub fallback: Option<Box<[u32; 256]>>,
    /// A piece that is a token is that token.
    pub ignore_merges: bool,
    /// Before every symbol but the first.
    pub prefix: &'a [u8],
    /// Behind the last symbol.
    pub suffix: &'a [u8],
    /// Ids of tokens of one scalar.
    pub scalars: SymbolTable,
    /// Ids of the visible characters of all bytes, if pieces come as the bytes themselves. None of
    /// them is a control token.
    pub bytes: Option<Box<[u32; 256]>>,
    /// Where long pieces can be cut, if that changes nothing.
    pub borders: Option<Borders>,
}

impl Bpe<'_> {
    /// The tokens of one piece; a scalar without token is left out and what is behind it moves.
    pub fn tokenize(&self, text: &[u8], room: Room, out: &mut Vec<Part>) -> Result<()> {
        if self.ignore_merges {
            if let Some(id) = self.whole(text, &room) {
                out.push(Part { id, start: 0, end: text.len() as u32 });
                return Ok(());
            }
        }
        let mut symbols = std::mem::take(&mut room.scratch.symbols);
        symbols.clear();
        let found = match &self.bytes {
            Some(bytes) => {
                let symbol = |&byte: &u8| Symbol { id: bytes[usize::from(byte)], size: 1 };
                symbols.extend(text.iter().map(symbol));
                Ok(())
            }
            None => self.scalar_symbols(text, &room, &mut symbols),
        };
        if found.is_ok() {
            room.scratch.merging.merge(&mut symbols, &self.merges, room.hidden);
            let mut at = 0;
            out.extend(symbols.iter().map(|symbol| {
                let start = at;
                at += symbol.size;
                Part { id: symbol.id, start, end: at }
            }));
        }
        room.scratch.symbols = symbols;
        found
    }

    /// Whether a piece may be cut between two scalars: both have tokens that may be given, so that
    /// nothing unknown is left waiting, and no merge joins them.
    #[inline]
    pub fn parts_between(&self, left: u32, right: u32, hidden: Option<&IdSet>) -> bool {
        let known = |code| {
            let id = self.scalars.get(code);
            id.map_or(false, |id| !hidden.map_or(false, |hidden| hidden.has(id)))
        };
        let apart = self.borders.as_ref().map_or(false, |borders| !borders.joins(left, right));
        apart && known(left) && known(right)
    }

    /// Whether cuts leave ids and offsets as they are: no scalar is left out, none has a neighbour
    /// in its symbol, and no piece is looked up as a whole.
    pub fn can_be_cut(&self) -> bool {
        let all_bytes = |table: &[u32; 256]| table.iter().all(|&id| id != NONE);
        let complete = self.unknown.is_some() || self.fallback.as_deref().map_or(false, all_bytes);
        let plain = self.prefix.is_empty() && self.suffix.is_empty() && !self.merges.odd;
        complete && plain && !self.ignore_merges && self.bytes.is_none()
    }

    /// The token that a piece is as a whole.
    fn whole(&self, text: &[u8], room: &Room) -> Option<u32> {
        if self.bytes.is_none() {
            return room.find(text);
        }
        if text.len() > room.vocabulary.longest {
            return None;
        }
        let mut shown = Vec::with_capacity(2 * text.len());
        text.iter().for_each(|&byte| push(&mut shown, visible(byte)));
        room.find(&shown)
    }

    fn scalar_symbols(&self, text: &[u8], room: &Room, symbols: &mut Vec<Symbol>) -> Result<()> {
        let mut waiting: Option<Symbol> = None;
        for (at, code) in scalars(text) {
            let len = length_of(text[at]);
            let last = at + len >= text.len();
            let size = len as u32;
            let (prefix, suffix) = self.around(at == 0, last);
            let id = room.shown(if prefix.is_empty() && suffix.is_empty() {
                self.scalars.get(code)
            } else {
                room.vocabulary.find(&[prefix, &text[at..at + len], suffix].concat())
            });
            if let Some(id) = id {
                symbols.extend(waiting.take());
                symbols.push(Symbol { id, size });
            } else if self.fall_back(&[prefix, &text[at..at + len], suffix], room, symbols) {
                // An unknown that waits stays behind these bytes, as in the source.
            } else if let Some(unknown) = self.unknown {
                let id = unknown.ok_or_else(|| no_unknown(&text[at..at + len]))?;
                waiting = match waiting {
                    Some(before) if self.fuse_unknown => {
                        Some(Symbol { id: before.id, size: before.size + size })
                    }
                    before => {
                        symbols.extend(before);
                        Some(Symbol { id, size })
                    }
                };
            }
        }
        symbols.extend(waiting);
        Ok(())
    }

    fn around(&self, first: bool, last: bool) -> (&[u8], &[u8]) {
        (if first { b"" } else { self.prefix }, if last { self.suffix } else { b"" })
    }

    /// The bytes of a symbol as tokens, if all of them are there.
    fn fall_back(&self, parts: &[&[u8]], room: &Room, symbols: &mut Vec<Symbol>) -> bool {
        let table = match &self.fallback {
            Some(table) => table,
            None => return false,
        };
        let length = symbols.len();
        for &byte in parts.iter().flat_map(|part| part.iter()) {
            match room.shown(Some(table[usize::from(byte)]).filter(|&id| id != NONE)) {
                Some(id) => symbols.push(Symbol { id, size: 1 }),
                None => {
                    symbols.truncate(length);
                    return false;
                }
            }
        }
        true
    }
}
