//! Added tokens: found in the text before everything else, leftmost, then longest.
//!
//! `single_word` discards a match beside a word character (the search goes on behind it), `lstrip`
//! and `rstrip` take the white space along.

use super::scalars::{before, scalar_at};
use super::sets::ScalarSet;

/// One added token with its five flags.
#[derive(Clone, Copy)]
pub struct AddedToken<'a> {
    /// The id.
    pub id: u32,
    /// The token.
    pub content: &'a [u8],
    /// Not beside a word character.
    pub single_word: bool,
    /// White space before it belongs to it.
    pub lstrip: bool,
    /// White space behind it belongs to it.
    pub rstrip: bool,
    /// Looked for in the normalized text.
    pub normalized: bool,
    /// A control token.
    pub special: bool,
}

/// A text that is looked for, and the number of its token.
struct Wanted {
    text: Vec<u8>,
    token: usize,
}

/// Finds one group of added tokens.
pub struct Matcher {
    /// In the order of their bytes.
    wanted: Vec<Wanted>,
    /// Those that begin with each byte.
    firsts: Box<[(u32, u32); 256]>,
}

/// The sets that flags ask for.
#[derive(Clone, Copy)]
pub struct Borders<'s> {
    /// Word characters.
    pub word: Option<&'s ScalarSet>,
    /// White space.
    pub space: Option<&'s ScalarSet>,
}

/// A stretch of a text; an added token's number if it is one.
pub type Found = (usize, usize, Option<usize>);

impl Matcher {
    /// Of these texts, no two of which are alike; an empty one is never found.
    pub fn new(wanted: impl Iterator<Item = (Vec<u8>, usize)>) -> Matcher {
        let mut rows: Vec<Wanted> = wanted
            .filter(|(text, _)| !text.is_empty())
            .map(|(text, token)| Wanted { text, token })
            .collect();
        rows.sort_by(|a, b| a.text.cmp(&b.text));
        let mut firsts = Box::new([(0, 0); 256]);
        for (at, row) in rows.iter().enumerate() {
            let span = &mut firsts[usize::from(row.text[0])];
            let start = if span.1 == 0 { at as u32 } else { span.0 };
            *span = (start, at as u32 + 1);
        }
        Matcher { wanted: rows, firsts }
    }

    /// Whether it finds nothing in any text.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// The next match at or behind a place: token, start, end.
    fn next(&self, text: &[u8], from: usize) -> Option<(usize, usize, usize)> {
        let mut at = from;
        while let Some(ahead) = self.ahead(&text[at..]) {
            at += ahead;
            if let Some((token, length)) = self.longest(&text[at..]) {
                return Some((token, at, at + length));
            }
            at += 1;
        }
        None
    }

    /// Where the first byte is that begins a text.
    fn ahead(&self, text: &[u8]) -> Option<usize> {
        text.iter().position(|&byte| self.firsts[usize::from(byte)].1 != 0)
    }

    /// Every match, overlapping ones too: token, start, length.
    pub fn each(&self, text: &[u8], mut see: impl FnMut(usize, usize, usize)) {
        let mut at = 0;
        while let Some(ahead) = self.ahead(&text[at..]) {
            at += ahead;
            self.here(&text[at..], |token, length| see(token, at, length));
            at += 1;
        }
    }

    /// The longest text that begins here.
    fn longest(&self, text: &[u8]) -> Option<(usize, usize)> {
        let mut found = None;
        self.here(text, |token, length| found = Some((token, length)));
        found
    }

    /// The texts that begin here, the shortest first, by narrowing the sorted list byte by byte.
    fn here(&self, text: &[u8], mut see: impl FnMut(usize, usize)) {
        let (start, end) = self.firsts[usize::from(text[0])];
        let mut rows = &self.wanted[start as usize..end as usize];
        for length in 1..=text.len() {
            if let Some(first) = rows.first().filter(|row| row.text.len() == length) {
                see(first.token, length);
                rows = &rows[1..];
            }
            let byte = match text.get(length) {
                Some(&byte) if !rows.is_empty() => byte,
                _ => break,
            };
            let low = rows.partition_point(|row| row.text[length] < byte);
            let high = rows.partition_point(|row| row.text[length] <= byte);
            rows = &rows[low..high];
        }
    }
}

/// The whole text in stretches, one after the other.
pub struct Stretches<'m, 't, 'a> {
    matcher: &'m Matcher,
    tokens: &'m [AddedToken<'a>],
    borders: Borders<'m>,
    text: &'t [u8],
    at: usize,
    done: usize,
    ahead: Option<Found>,
    over: bool,
}

impl<'m, 't, 'a> Stretches<'m, 't, 'a> {
    /// Over a text.
    pub fn new(
        matcher: &'m Matcher,
        tokens: &'m [AddedToken<'a>],
        borders: Borders<'m>,
        text: &'t [u8],
    ) -> Stretches<'m, 't, 'a> {
        let over = matcher.is_empty();
        Stretches { matcher, tokens, borders, text, at: 0, done: 0, ahead: None, over }
    }

    /// The next stretch; a match that is not allowed is passed over.
    pub fn next(&mut self, allowed: impl Fn(usize, usize, usize) -> bool) -> Option<Found> {
        if let Some(found) = self.ahead.take() {
            return Some(found);
        }
        while !self.over {
            let (number, start, end) = match self.matcher.next(self.text, self.at) {
                Some(found) => found,
                None => break,
            };
            self.at = end;
            let token = &self.tokens[number];
            if !allowed(number, start, end) || (token.single_word && self.in_word(start, end)) {
                continue;
            }
            let start = if token.lstrip { self.before_space(start) } else { start };
            let end = if token.rstrip { self.behind_space(end) } else { end };
            if end <= start {
                // The white space of the token before it took all of it.
                continue;
            }
            let done = std::mem::replace(&mut self.done, end);
            let found = (start, end, Some(number));
            if done < start {
                self.ahead = Some(found);
                return Some((done, start, None));
            }
            return Some(found);
        }
        self.over = true;
        let done = std::mem::replace(&mut self.done, self.text.len());
        (done < self.text.len()).then_some((done, self.text.len(), None))
    }

    fn in_word(&self, start: usize, end: usize) -> bool {
        let word = |at| self.borders.word.map_or(false, |set| set.has(scalar_at(self.text, at).0));
        (start > 0 && word(before(self.text, start))) || (end < self.text.len() && word(end))
    }

    fn space(&self, at: usize) -> bool {
        self.borders.space.map_or(false, |set| set.has(scalar_at(self.text, at).0))
    }

    /// The start with the white space before it, as far as nothing is done yet.
    fn before_space(&self, start: usize) -> usize {
        let mut at = start;
        while at > 0 && self.space(before(self.text, at)) {
            at = before(self.text, at);
        }
        at.max(self.done)
    }

    fn behind_space(&self, end: usize) -> usize {
        let mut at = end;
        while at < self.text.len() && self.space(at) {
            at += scalar_at(self.text, at).1;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(content: &'static str) -> AddedToken<'static> {
        let content = content.as_bytes();
        AddedToken {
            id: 0,
            content,
            single_word: false,
            lstrip: false,
            rstrip: false,
            normalized: false,
            special: false,
        }
    }

    fn stretches(tokens: &[AddedToken], text: &str) -> Vec<(String, Option<usize>)> {
        let matcher = Matcher::new(tokens.iter().map(|t| t.content.to_vec()).zip(0..));
        let borders = Borders { word: None, space: None };
        let mut walk = Stretches::new(&matcher, tokens, borders, text.as_bytes());
        let mut out = Vec::new();
        while let Some((start, end, number)) = walk.next(|_, _, _| true) {
            out.push((text[start..end].to_string(), number));
        }
        out
    }

    #[test]
    fn leftmost_then_longest() {
        let tokens = ["ab", "abcd", "bc", "c"].map(token);
        let found = stretches(&tokens, "xabcdabcbcc");
        let wanted = [
            ("x", None),
            ("abcd", Some(1)),
            ("ab", Some(0)),
            ("c", Some(3)),
            ("bc", Some(2)),
            ("c", Some(3)),
        ];
        assert_eq!(found, wanted.map(|(text, number)| (text.to_string(), number)));
        assert_eq!(stretches(&tokens, "xy"), [("xy".to_string(), None)]);
        assert_eq!(stretches(&[], "ab"), [("ab".to_string(), None)]);
    }
}
