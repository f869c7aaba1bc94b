//! WordPiece (the longest piece first) and WordLevel (whole pieces).

use super::{no_unknown, Part, Room};
use crate::error::Result;
use crate::text::crc32::Crc;
use crate::text::scalars::{continues, count};

/// Pieces within a word; those that do not begin it are written with the prefix.
pub struct WordPiece<'a> {
    /// The unknown token's id, if it has one.
    pub unknown: Option<u32>,
    /// Before every piece but the first.
    pub prefix: &'a [u8],
    /// Scalars of a word; a longer one is unknown.
    pub longest: usize,
}

/// A token a word.
pub struct WordLevel {
    /// The unknown token's id, if it has one.
    pub unknown: Option<u32>,
}

fn one(id: Option<u32>, text: &[u8], out: &mut Vec<Part>) -> Result<()> {
    let id = id.ok_or_else(|| no_unknown(text))?;
    out.push(Part { id, start: 0, end: text.len() as u32 });
    Ok(())
}

impl WordPiece<'_> {
    /// The tokens of one word.
    pub fn tokenize(&self, text: &[u8], room: Room, out: &mut Vec<Part>) -> Result<()> {
        let length = out.len();
        let short = text.len() <= self.longest || count(text) <= self.longest;
        let mut start = if short { 0 } else { text.len() + 1 };
        let mut spelled = std::mem::take(&mut room.scratch.text);
        while start < text.len() {
            match self.longest_piece(text, start, &room, &mut spelled) {
                Some(part) => {
                    out.push(part);
                    start = part.end as usize;
                }
                None => start = text.len() + 1,
            }
        }
        room.scratch.text = spelled;
        if start == text.len() {
            return Ok(());
        }
        out.truncate(length);
        one(self.unknown, text, out)
    }

    fn longest_piece(
        &self,
        text: &[u8],
        start: usize,
        room: &Room,
        spelled: &mut Vec<u8>,
    ) -> Option<Part> {
        let prefix = if start == 0 { b"" } else { self.prefix };
        let room_left = room.vocabulary.longest.saturating_sub(prefix.len());
        let most = room_left.min(text.len() - start);
        spelled.clear();
        spelled.extend_from_slice(prefix);
        spelled.extend_from_slice(&text[start..start + most]);
        let mut crc = prefix.iter().fold(Crc::new(), |crc, &byte| crc.with(byte));
        let mut found = None;
        for end in start + 1..=start + most {
            crc = crc.with(text[end - 1]);
            if text.get(end).map_or(false, |&byte| continues(byte)) {
                continue;
            }
            let piece = &spelled[..prefix.len() + end - start];
            if let Some(id) = room.find_hashed(crc.value(), piece) {
                found = Some(Part { id, start: start as u32, end: end as u32 });
            }
        }
        found
    }
}

impl WordLevel {
    /// The one token of a word.
    pub fn tokenize(&self, text: &[u8], room: Room, out: &mut Vec<Part>) -> Result<()> {
        let id = room.find(text).or(self.unknown);
        one(id, text, out)
    }
}
