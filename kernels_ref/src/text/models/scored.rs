//! Merging by scores, as llama.cpp does: neighbours go together where their joined text is a token.
//!
//! The best score comes first, then the leftmost place; n log n on any text. What is no token is
//! written as its bytes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{no_unknown, Part, Room};
use crate::error::Result;
use crate::text::scalars::{length_of, scalars};
use crate::text::vocabulary::{entry, NONE};

/// A vocabulary whose tokens have ranks.
pub struct Scored<'a> {
    /// The rank of each id among the scores, the best one being 0.
    pub ranks: &'a [u8],
    /// Ids of the tokens `<0xHH>`; what has none is ASCII, and a token.
    pub bytes: Box<[u32; 256]>,
}

/// Bytes of the piece, and the numbers of the neighbours. One that was merged away ends at 0.
#[derive(Clone, Copy)]
struct Symbol {
    start: u32,
    end: u32,
    before: u32,
    after: u32,
}

/// Rank, number of the left symbol, and where the right one ends.
type Waiting = Reverse<(u32, u32, u32)>;

/// Memory of merging, kept between pieces.
#[derive(Default)]
pub struct Scratch {
    symbols: Vec<Symbol>,
    heap: Vec<Waiting>,
}

impl Scored<'_> {
    /// The tokens of one piece.
    pub fn tokenize(&self, text: &[u8], room: Room, out: &mut Vec<Part>) -> Result<()> {
        let mut scratch = std::mem::take(&mut room.scratch.scored);
        self.merge(text, &room, &mut scratch);
        let left = scratch.symbols.iter().filter(|symbol| symbol.end != 0);
        let done = left
            .map(|one| (one.start, one.end))
            .try_for_each(|span| self.write(text, span, &room, out));
        if scratch.symbols.capacity().max(scratch.heap.capacity()) <= 1 << 16 {
            // What one long piece needed is not kept for the others.
            room.scratch.scored = scratch;
        }
        done
    }

    fn merge(&self, text: &[u8], room: &Room, scratch: &mut Scratch) {
        let symbols = &mut scratch.symbols;
        symbols.clear();
        symbols.extend((0u32..).zip(scalars(text)).map(|(number, (at, _))| Symbol {
            start: at as u32,
            end: (at + length_of(text[at])) as u32,
            before: number.wrapping_sub(1),
            after: number + 1,
        }));
        let mut waiting = std::mem::take(&mut scratch.heap);
        waiting.clear();
        for right in 1..symbols.len() as u32 {
            waiting.extend(self.pair(text, symbols, right - 1, right, room));
        }
        let mut heap = BinaryHeap::from(waiting);
        while let Some(Reverse((_, number, end))) = heap.pop() {
            let Symbol { end: own, before, after: right, .. } = symbols[number as usize];
            let holds = symbols.get(right as usize).map_or(false, |right| right.end == end);
            if own == 0 || !holds {
                continue;
            }
            let following = symbols[right as usize].after;
            symbols[right as usize].end = 0;
            symbols[number as usize].end = end;
            symbols[number as usize].after = following;
            if let Some(next) = symbols.get_mut(following as usize) {
                next.before = number;
            }
            heap.extend(self.pair(text, symbols, before, number, room));
            heap.extend(self.pair(text, symbols, number, following, room));
        }
        scratch.heap = heap.into_vec();
    }

    /// Two neighbours as a pair that waits, if there are both and they make a token.
    fn pair(
        &self,
        text: &[u8],
        symbols: &[Symbol],
        left: u32,
        right: u32,
        room: &Room,
    ) -> Option<Waiting> {
        let start = symbols.get(left as usize)?.start;
        let end = symbols.get(right as usize)?.end;
        let id = room.find(&text[start as usize..end as usize])?;
        Some(Reverse((entry(self.ranks, id as usize), left, end)))
    }

    /// A symbol as its token, or as those of its bytes.
    fn write(
        &self,
        text: &[u8],
        (start, end): (u32, u32),
        room: &Room,
        out: &mut Vec<Part>,
    ) -> Result<()> {
        let piece = &text[start as usize..end as usize];
        let part = |id| Part { id, start, end };
        if let Some(id) = room.find(piece) {
            out.push(part(id));
            return Ok(());
        }
        for byte in piece {
            let named = Some(self.bytes[usize::from(*byte)]).filter(|&id| id != NONE);
            let plain = || if byte.is_ascii() { room.find(&[*byte]) } else { None };
            let id = room.shown(named).or_else(plain).ok_or_else(|| no_unknown(piece))?;
            out.push(part(id));
        }
        Ok(())
    }
}
