//! Merging by scores, as llama.cpp does; what is no token is written as its bytes.

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

impl Scored<'_> {
    /// The tokens of one piece.
    pub fn tokenize(&self, text: &[u8], room: Room, out: &mut Vec<Part>) -> Result<()> {
        let mut merging = std::mem::take(&mut room.scratch.scored);
        merging.clear();
        for (at, _) in scalars(text) {
            merging.push(at, at + length_of(text[at]), false);
        }
        merging.merge(|start, _, end| {
            let id = room.find(&text[start as usize..end as usize])?;
            Some(entry(self.ranks, id as usize))
        });
        let done = merging.spans().try_for_each(|span| self.write(text, span, &room, out));
        if merging.is_small() {
            room.scratch.scored = merging;
        }
        done
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
