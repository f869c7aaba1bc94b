//! Unigram: the path of the highest score through all pieces, ties to the one found first.
//!
//! Sums are float64 from the left; a later path wins only by a larger score; an unknown scalar costs
//! the penalty below the lowest score; unknown neighbours become one token.

use super::{no_unknown, Part, Room};
use crate::bytes::u64_at;
use crate::error::Result;
use crate::text::crc32::Crc;
use crate::text::scalars::{continues, scalar_at};
use crate::text::vocabulary::NONE;

/// The best path that ends at a place: its score, where its last piece begins, and that piece.
#[derive(Clone, Copy)]
pub struct Node {
    score: f64,
    start: u32,
    id: u32,
}

const NOWHERE: Node = Node { score: 0.0, start: NONE, id: NONE };

/// Pieces with scores.
pub struct Unigram<'a> {
    /// Float64 bits by id.
    pub scores: &'a [u8],
    /// The unknown token.
    pub unknown: Option<u32>,
    /// Score of an unknown scalar: the lowest one less the penalty.
    pub lowest: f64,
    /// Ids of the tokens `<0xHH>`, if what is unknown becomes bytes.
    pub fallback: Option<Box<[u32; 256]>>,
    /// Bytes of the longest token by its first byte.
    pub longest: Box<[u16; 256]>,
}

impl Unigram<'_> {
    fn score(&self, id: u32) -> f64 {
        f64::from_bits(u64_at(self.scores, 8 * id as usize))
    }

    /// The tokens of one piece.
    pub fn tokenize(&self, text: &[u8], room: Room, out: &mut Vec<Part>) -> Result<()> {
        let mut paths = std::mem::take(&mut room.scratch.paths);
        let found = self.paths(text, &room, &mut paths);
        let spans = found.map(|()| self.spans(text.len(), &mut paths));
        let done = spans.and_then(|count| {
            let spans = &paths[..count];
            spans.iter().rev().try_for_each(|one| {
                self.emit(text, one.start as usize, one.id as usize, &room, out)
            })
        });
        room.scratch.paths = if paths.capacity() > 1 << 16 { Vec::new() } else { paths };
        done
    }

    /// One span as tokens: a piece, its bytes, or the unknown token.
    fn emit(
        &self,
        text: &[u8],
        start: usize,
        end: usize,
        room: &Room,
        out: &mut Vec<Part>,
    ) -> Result<()> {
        let piece = &text[start..end];
        let part = |id| Part { id, start: start as u32, end: end as u32 };
        if let Some(id) = room.find(piece) {
            out.push(part(id));
            return Ok(());
        }
        if let Some(table) = &self.fallback {
            let byte_id =
                |&byte: &u8| room.shown(Some(table[usize::from(byte)]).filter(|&id| id != NONE));
            if piece.iter().all(|byte| byte_id(byte).is_some()) {
                out.extend(piece.iter().filter_map(byte_id).map(part));
                return Ok(());
            }
        }
        out.push(part(self.unknown.ok_or_else(|| no_unknown(piece))?));
        Ok(())
    }

    /// Walk the best path back; spans (`start`, end in `id`) from the last one on, written over the
    /// beginning of the path, which is read from its end.
    fn spans(&self, length: usize, paths: &mut Vec<Node>) -> usize {
        let mut spans: Vec<Node> = Vec::new();
        let (mut end, mut unknown) = (length, false);
        while end > 0 {
            let Node { start, id, .. } = paths[end];
            let is_unknown = Some(id) == self.unknown;
            match spans.last_mut() {
                Some(last) if unknown && is_unknown => last.start = start,
                _ => spans.push(Node { score: 0.0, start, id: end as u32 }),
            }
            unknown = is_unknown;
            end = start as usize;
        }
        *paths = spans;
        paths.len()
    }

    fn paths(&self, text: &[u8], room: &Room, best: &mut Vec<Node>) -> Result<()> {
        best.clear();
        best.resize(text.len() + 1, NOWHERE);
        let mut start = 0;
        while start < text.len() {
            let here = best[start].score;
            let single = start + scalar_at(text, start).1;
            if !self.pieces(text, start, single, room, best) {
                let score = self.lowest + here;
                if best[single].start == NONE || score > best[single].score {
                    let id = self.unknown.ok_or_else(|| no_unknown(&text[start..single]))?;
                    best[single] = Node { score, start: start as u32, id };
                }
            }
            start = single;
        }
        Ok(())
    }

    /// Every piece that begins at a place; whether the scalar there is one.
    fn pieces(
        &self,
        text: &[u8],
        start: usize,
        single: usize,
        room: &Room,
        best: &mut [Node],
    ) -> bool {
        let longest = usize::from(self.longest[usize::from(text[start])]);
        let here = best[start].score;
        let mut crc = Crc::new();
        let mut known = false;
        for end in start + 1..=text.len().min(start + longest) {
            crc = crc.with(text[end - 1]);
            if text.get(end).map_or(false, |&byte| continues(byte)) {
                continue;
            }
            if let Some(id) = room.find_hashed(crc.value(), &text[start..end]) {
                known |= end == single;
                let score = self.score(id) + here;
                if best[end].start == NONE || score > best[end].score {
                    best[end] = Node { score, start: start as u32, id };
                }
            }
        }
        known
    }
}
