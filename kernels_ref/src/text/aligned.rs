//! A text under change, each of whose bytes knows the scalar of the given text that it came from.
//!
//! An untouched piece keeps no table: its bytes lie behind each other in the given text. In a table
//! every byte of a scalar has the same origin, the offset of the original scalar's first byte; a
//! scalar inserted at the very start has an empty origin, written -1 - offset.

use super::scalars::{before, continues, length_of, push, scalar_at, scalars};

#[derive(Clone, Copy)]
enum Origins<'t> {
    /// Offset in the given text of the piece's first byte.
    Untouched(usize),
    /// One origin a byte.
    Each(&'t [i32]),
}

/// A piece of text; `base` is where it begins in the given text.
#[derive(Clone, Copy)]
pub struct View<'t> {
    /// The present text, UTF-8.
    pub text: &'t [u8],
    origins: Origins<'t>,
    base: i32,
}

/// A changed piece and its table.
#[derive(Default)]
pub struct Changed {
    /// The present text, UTF-8.
    pub text: Vec<u8>,
    origins: Vec<i32>,
    base: i32,
}

/// A scalar and its change: 1 inserted, 0 in place of the next one, -n also removes n after it.
pub type Change = (u32, i32);

impl<'t> View<'t> {
    /// The given text.
    pub fn whole(text: &'t [u8]) -> View<'t> {
        View { text, origins: Origins::Untouched(0), base: 0 }
    }

    /// A text that lies untouched at an offset of another one, which counts as the given text.
    pub fn lying(text: &'t [u8], offset: usize) -> View<'t> {
        View { text, origins: Origins::Untouched(offset), base: offset as i32 }
    }

    /// The bytes `start` to `end`.
    #[inline]
    pub fn part(&self, start: usize, end: usize) -> View<'t> {
        let origins = match self.origins {
            Origins::Untouched(offset) => Origins::Untouched(offset + start),
            Origins::Each(table) => Origins::Each(&table[start..end]),
        };
        View { text: &self.text[start..end], origins, base: self.base }
    }

    /// The piece as one that begins where its first scalar came from.
    pub fn rebased(mut self) -> View<'t> {
        if !self.text.is_empty() {
            self.base = self.source(0);
        }
        self
    }

    #[inline]
    fn source(&self, at: usize) -> i32 {
        match self.origins {
            Origins::Untouched(offset) => (offset + at) as i32,
            Origins::Each(table) => table[at],
        }
    }

    /// The bytes of the given text that `start` to `end`, which is not empty, came from. Parts of a
    /// scalar come from the whole of it.
    #[inline]
    pub fn origin(&self, start: usize, end: usize, given: &[u8]) -> (u32, u32) {
        match self.origins {
            Origins::Untouched(offset) => {
                let (mut start, mut end) = (start, end);
                while start > 0 && continues(self.text[start]) {
                    start -= 1;
                }
                while end < self.text.len() && continues(self.text[end]) {
                    end += 1;
                }
                ((offset + start) as u32, (offset + end) as u32)
            }
            Origins::Each(table) => {
                let first = table[start];
                let last = table[end - 1];
                (first.max(-1 - first) as u32, behind(last, given))
            }
        }
    }

    /// Whether the piece begins the given text.
    pub fn is_first(&self) -> bool {
        let first = self.source(0);
        first == 0 || first == -1
    }

    /// Another text, written scalar by scalar; None where it is the same.
    pub fn rewritten(&self, write: impl FnOnce(&mut Writer<'t>)) -> Option<Changed> {
        let mut writer = Writer::new(*self);
        write(&mut writer);
        let same = writer.same && writer.at == self.text.len();
        (!same).then_some(writer.out)
    }

    /// Only the scalars that `keep` wants, each as `mapped` gives it; None where all are the same.
    pub fn kept(&self, keep: impl Fn(u32) -> bool, mapped: impl Fn(u32) -> u32) -> Option<Changed> {
        let changes = |code| !keep(code) || mapped(code) != code;
        if !scalars(self.text).any(|(_, code)| changes(code)) {
            return None;
        }
        let mut out = Changed::like(self);
        for (at, code) in scalars(self.text).filter(|&(_, code)| keep(code)) {
            out.push(mapped(code), self.source(at));
        }
        Some(out)
    }

    /// `content` before a piece that is not empty; it comes from the first scalar.
    pub fn prefixed(&self, content: &[u8]) -> Changed {
        let mut out = Changed::like(self);
        if !self.text.is_empty() {
            out.extend(content, self.source(0));
        }
        out.append(self, 0, self.text.len());
        out
    }
}

fn behind(last: i32, given: &[u8]) -> u32 {
    if last < 0 {
        return (-1 - last) as u32;
    }
    last as u32 + given.get(last as usize).map_or(1, |&lead| length_of(lead)) as u32
}

impl Changed {
    /// An empty piece with the base of another.
    pub fn like(view: &View) -> Changed {
        let size = view.text.len() + view.text.len() / 4;
        Changed {
            text: Vec::with_capacity(size),
            origins: Vec::with_capacity(size),
            base: view.base,
        }
    }

    /// The piece as it is.
    pub fn copied(view: &View) -> Changed {
        let mut out = Changed::like(view);
        out.append(view, 0, view.text.len());
        out
    }

    /// The piece to look at.
    pub fn view(&self) -> View<'_> {
        View { text: &self.text, origins: Origins::Each(&self.origins), base: self.base }
    }

    fn push(&mut self, code: u32, origin: i32) {
        push(&mut self.text, code);
        self.origins.resize(self.text.len(), origin);
    }

    fn extend(&mut self, content: &[u8], origin: i32) {
        self.text.extend_from_slice(content);
        self.origins.resize(self.text.len(), origin);
    }

    /// No text; memory is kept.
    pub fn clear(&mut self) {
        self.text.clear();
        self.origins.clear();
    }

    /// Append a scalar that comes from the one at a place of a piece.
    pub fn put(&mut self, view: &View, at: usize, code: u32) {
        self.push(code, view.source(at));
    }

    /// Append `start` to `end` of a piece, untouched.
    pub fn append(&mut self, view: &View, start: usize, end: usize) {
        self.text.extend_from_slice(&view.text[start..end]);
        match view.origins {
            Origins::Each(table) => self.origins.extend_from_slice(&table[start..end]),
            Origins::Untouched(offset) => {
                let mut origin = 0;
                for at in start..end {
                    if !continues(view.text[at]) || at == start {
                        origin = (offset + at) as i32;
                    }
                    self.origins.push(origin);
                }
            }
        }
    }

    /// Append `content` in place of what ends at `end` of a piece, its last scalar being the origin.
    pub fn replace(&mut self, view: &View, end: usize, content: &[u8]) {
        let origin = view.source(before(view.text, end));
        self.extend(content, origin);
    }
}

/// Writes a changed piece, walking along the old one.
pub struct Writer<'t> {
    piece: View<'t>,
    out: Changed,
    at: usize,
    last: Option<usize>,
    same: bool,
}

impl<'t> Writer<'t> {
    fn new(piece: View<'t>) -> Writer<'t> {
        Writer { piece, out: Changed::like(&piece), at: 0, last: None, same: true }
    }

    /// One scalar: inserted (1), in place of the next one (0), or of more than that (-n).
    pub fn put(&mut self, code: u32, change: i32) {
        if change > 0 {
            let origin = self.last.map_or(-1 - self.piece.base, |at| self.piece.source(at));
            self.out.push(code, origin);
            self.same = false;
            return;
        }
        let (old, origin) = match self.piece.text.get(self.at) {
            Some(_) => (scalar_at(self.piece.text, self.at).0, self.piece.source(self.at)),
            None => (code, self.last.map_or(0, |at| self.piece.source(at))),
        };
        self.same &= change == 0 && old == code;
        self.out.push(code, origin);
        for _ in change..=0 {
            if self.at < self.piece.text.len() {
                self.last = Some(self.at);
                self.at += scalar_at(self.piece.text, self.at).1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inserted_scalars_share_the_origin_before_them() {
        let given = "é€x".as_bytes();
        let changes = [(0x41, 1), (0x42, 0), (0x43, 1), (0x44, -1), (0x45, 1)];
        let write = |to: &mut Writer| changes.iter().for_each(|&(code, move_)| to.put(code, move_));
        let made = View::whole(given).rewritten(write).unwrap();
        let view = made.view();
        assert_eq!(view.text, b"ABCDE");
        let spans: Vec<_> = (0..5).map(|at| view.origin(at, at + 1, given)).collect();
        assert_eq!(spans, [(0, 0), (0, 2), (0, 2), (2, 5), (5, 6)]);
        assert_eq!(view.origin(0, 5, given), (0, 6));
    }

    #[test]
    fn parts_of_a_scalar_come_from_the_whole() {
        let given = "a€b".as_bytes();
        assert_eq!(View::whole(given).origin(2, 3, given), (1, 4));
        assert_eq!(View::whole(given).part(1, 5).origin(0, 4, given), (1, 5));
    }

    #[test]
    fn replaced_text_comes_from_the_last_scalar() {
        let given = "aé€b".as_bytes();
        let view = View::whole(given);
        let mut made = Changed::like(&view);
        made.append(&view, 0, 1);
        made.replace(&view, 6, b"xyz");
        made.append(&view, 6, 7);
        let view = made.view();
        assert_eq!((view.text, view.origin(1, 2, given)), (&b"axyzb"[..], (3, 6)));
        assert_eq!(view.prefixed(b"_").view().origin(0, 1, given), (0, 1));
    }
}
