//! Unicode scalars in bytes that are known to be UTF-8, forwards and backwards.
//!
//! Lone surrogates in three bytes pass too: decoders write bytes that are no UTF-8 with them. No
//! input panics; of ill-formed bytes only the values are unspecified.

use crate::error::{Code, Error, Result};

/// One past the last scalar.
pub const END: u32 = 0x11_0000;

/// The scalar at `at`, which is inside, and its length in bytes.
#[inline]
pub fn scalar_at(text: &[u8], at: usize) -> (u32, usize) {
    let lead = u32::from(text[at]);
    if lead < 0x80 {
        (lead, 1)
    } else {
        longer(lead, &text[at..])
    }
}

fn longer(lead: u32, text: &[u8]) -> (u32, usize) {
    let len = length_of(lead as u8).min(text.len());
    let first = lead & (0x7f >> len);
    let code = text[1..len].iter().fold(first, |code, &byte| code << 6 | u32::from(byte & 0x3f));
    (code, len)
}

/// Length of a scalar by its first byte.
#[inline]
pub fn length_of(lead: u8) -> usize {
    match lead {
        0..=0xdf => 1 + usize::from(lead >= 0xc0),
        0xe0..=0xef => 3,
        _ => 4,
    }
}

/// Whether a byte begins no scalar.
#[inline]
pub fn continues(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// Where the scalar before `at` begins; `at` is above 0.
#[inline]
pub fn before(text: &[u8], at: usize) -> usize {
    let mut start = at - 1;
    while start > 0 && continues(text[start]) {
        start -= 1;
    }
    start
}

/// Number of scalars.
pub fn count(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| !continues(byte)).count()
}

/// Append a scalar.
#[inline]
pub fn push(out: &mut Vec<u8>, code: u32) {
    let tail = |shift: u32| 0x80 | (code >> shift & 0x3f) as u8;
    match code {
        0..=0x7f => out.push(code as u8),
        0x80..=0x7ff => out.extend_from_slice(&[0xc0 | (code >> 6) as u8, tail(0)]),
        0x800..=0xffff => out.extend_from_slice(&[0xe0 | (code >> 12) as u8, tail(6), tail(0)]),
        _ => out.extend_from_slice(&[0xf0 | (code >> 18 & 7) as u8, tail(12), tail(6), tail(0)]),
    }
}

/// The scalars of a text with the places where they begin.
pub struct Scalars<'t> {
    text: &'t [u8],
    at: usize,
}

/// All scalars of a text.
pub fn scalars(text: &[u8]) -> Scalars<'_> {
    Scalars { text, at: 0 }
}

impl Iterator for Scalars<'_> {
    type Item = (usize, u32);

    #[inline]
    fn next(&mut self) -> Option<(usize, u32)> {
        if self.at >= self.text.len() {
            return None;
        }
        let start = self.at;
        let (code, len) = scalar_at(self.text, start);
        self.at += len;
        Some((start, code))
    }
}

/// Refuse bytes that are no UTF-8, by the offset of the first ill-formed sequence.
pub fn require_utf8(text: &[u8]) -> Result<()> {
    std::str::from_utf8(text).map(|_| ()).map_err(|error| {
        let detail = "no well-formed UTF-8 begins there";
        Error::new(Code::Utf8, format!("byte {}", error.valid_up_to()), detail)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_come_back() {
        let text = "a\u{7f}\u{80}\u{7ff}\u{800}\u{ffff}\u{10000}\u{10ffff}";
        let codes: Vec<u32> = scalars(text.as_bytes()).map(|(_, code)| code).collect();
        assert_eq!(codes, text.chars().map(u32::from).collect::<Vec<_>>());
        let mut out = Vec::new();
        codes.iter().for_each(|&code| push(&mut out, code));
        assert_eq!(out, text.as_bytes());
        assert_eq!(before(&out, out.len()), out.len() - 4);
        assert_eq!(count(&out), 8);
    }

    #[test]
    fn the_first_ill_formed_byte_is_named() {
        for (bytes, at) in [(&b"ab\xed\xa0\x80"[..], 2), (b"\xc0\xaf", 0), (b"a\xe2\x82", 1)] {
            assert_eq!(require_utf8(bytes).unwrap_err().place, format!("byte {}", at));
        }
    }

    #[test]
    fn ill_formed_bytes_do_not_panic() {
        for lead in 0..=255u8 {
            for text in [&[lead][..], &[lead, 0x80], &[0x80, lead]] {
                assert!(scalars(text).count() >= 1);
                assert!(before(text, text.len()) < text.len());
            }
        }
    }
}
