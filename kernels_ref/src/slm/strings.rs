//! The string table: u32 count, (u32 offset, u32 length) pairs, then UTF-8 bytes.

use crate::bytes::{reserve, u32_at};
use crate::error::{ensure, Code, Error, Result};

/// Strings of a table.
const MOST: u64 = 1 << 15;

/// A checked table.
pub struct Strings<'a> {
    pairs: &'a [u8],
    text: &'a [u8],
}

fn broken(place: String, detail: impl Into<String>) -> Error {
    Error::new(Code::Strings, place, detail)
}

impl<'a> Strings<'a> {
    /// Check counts, spans, encoding and uniqueness.
    pub fn parse(table: &'a [u8]) -> Result<Strings<'a>> {
        let short = || broken("string table".into(), format!("{} bytes are too few", table.len()));
        let count = u64::from(u32_at(table.get(..4).ok_or_else(short)?, 0));
        let room = table.len() as u64 - 4;
        ensure(count * 8 <= room, short)?;
        ensure(count <= MOST, || broken("string table".into(), format!("{} strings", count)))?;
        let (pairs, text) = table[4..].split_at(8 * count as usize);
        let strings = Strings { pairs, text };
        strings.check()?;
        Ok(strings)
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.pairs.len() / 8
    }

    fn span(&self, i: usize) -> (u64, u64) {
        let pair = &self.pairs[8 * i..8 * i + 8];
        (u32_at(pair, 0).into(), u32_at(pair, 4).into())
    }

    /// String `i`, or None where there is none.
    pub fn get(&self, i: u32) -> Option<&'a str> {
        let i = i as usize;
        if i >= self.len() {
            return None;
        }
        let (offset, len) = self.span(i);
        let bytes = self.text.get(offset as usize..(offset + len) as usize)?;
        std::str::from_utf8(bytes).ok()
    }

    /// The spans tile the text in some order, and every string is UTF-8 and unique.
    fn check(&self) -> Result<()> {
        let mut order: Vec<u32> = Vec::new();
        reserve(&mut order, self.len())?;
        order.extend(0..self.len() as u32);
        order.sort_unstable_by_key(|&i| self.span(i as usize));
        let mut at = 0;
        for &i in &order {
            let (offset, len) = self.span(i as usize);
            let place = || format!("string {}", i);
            ensure(offset == at, || broken(place(), format!("begins at {}, not {}", offset, at)))?;
            at = offset + len;
            ensure(at <= self.text.len() as u64, || broken(place(), "ends behind the table"))?;
            ensure(self.get(i).is_some(), || broken(place(), "is no well-formed UTF-8"))?;
        }
        ensure(at == self.text.len() as u64, || {
            broken("string table".into(), format!("{} of {} bytes used", at, self.text.len()))
        })?;
        order.sort_unstable_by_key(|&i| self.get(i));
        for pair in order.windows(2) {
            ensure(self.get(pair[0]) != self.get(pair[1]), || {
                let detail = format!("{} occurs twice", self.get(pair[0]).unwrap_or(""));
                Error::new(Code::Strings, "string table", detail)
            })?;
        }
        Ok(())
    }
}
