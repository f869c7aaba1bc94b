//! Maps, classes and groups of scalars, looked up in the bytes of the file.
//!
//! The reader of the file has checked order and lengths.

use super::vocabulary::entry;

/// The first of `count` rows that is not `low`.
fn first(count: usize, low: impl Fn(usize) -> bool) -> usize {
    let (mut from, mut to) = (0, count);
    while from < to {
        let middle = (from + to) / 2;
        if low(middle) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    from
}

/// Scalars and what stands in their place.
#[derive(Clone, Copy)]
pub struct Map<'a> {
    /// Ascending scalars.
    pub keys: &'a [u8],
    /// End of each one's text.
    pub ends: &'a [u8],
    /// The texts.
    pub scalars: &'a [u8],
}

impl<'a> Map<'a> {
    /// Whether it has one scalar for each key, and a key.
    pub fn is_letters(&self) -> bool {
        !self.keys.is_empty() && self.keys.len() == self.scalars.len()
    }

    /// The one scalar in place of another, where each has one.
    pub fn letter(&self, code: u32) -> u32 {
        self.get(code).and_then(|mut found| found.next()).unwrap_or(code)
    }

    /// What stands in place of a scalar, four bytes each.
    pub fn get(&self, code: u32) -> Option<impl Iterator<Item = u32> + 'a> {
        let count = self.keys.len() / 4;
        let at = first(count, |i| entry(self.keys, i) < code);
        if at == count || entry(self.keys, at) != code {
            return None;
        }
        let start = if at == 0 { 0 } else { entry(self.ends, at - 1) } as usize;
        let (scalars, end) = (self.scalars, entry(self.ends, at) as usize);
        Some((start..end).map(move |i| entry(scalars, i)))
    }
}

/// Scalars and a class each.
#[derive(Clone, Copy)]
pub struct Classes<'a>(pub &'a [u8]);

impl Classes<'_> {
    /// The class of a scalar, 0 where the table has none.
    pub fn get(&self, code: u32) -> u32 {
        let count = self.0.len() / 4;
        let at = first(count, |i| entry(self.0, i) >> 8 < code);
        let row = if at == count { 0 } else { entry(self.0, at) };
        if row >> 8 == code {
            row & 0xff
        } else {
            0
        }
    }
}

/// Pairs of scalars and the scalar that they make.
#[derive(Clone, Copy)]
pub struct Compositions<'a>(pub &'a [u8]);

impl Compositions<'_> {
    /// What two scalars make.
    pub fn get(&self, left: u32, right: u32) -> Option<u32> {
        let count = self.0.len() / 12;
        let pair = |i: usize| (entry(self.0, 3 * i), entry(self.0, 3 * i + 1));
        let at = first(count, |i| pair(i) < (left, right));
        (at < count && pair(at) == (left, right)).then(|| entry(self.0, 3 * at + 2))
    }
}

/// A group for every scalar.
#[derive(Clone, Copy)]
pub struct Runs<'a>(pub &'a [u8]);

impl Runs<'_> {
    /// The group of a scalar.
    pub fn get(&self, code: u32) -> u32 {
        let count = self.0.len() / 8;
        let at = first(count, |i| entry(self.0, 2 * i) <= code);
        entry(self.0, 2 * at.min(count - 1) + 1)
    }
}
