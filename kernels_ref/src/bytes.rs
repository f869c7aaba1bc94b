//! Little-endian fields and ranges of a byte slice, in checked arithmetic.

use crate::error::{ensure, Code, Error, Result};

/// Two bytes at `at`, which the caller knows to be inside.
#[inline]
pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// Four bytes at `at`, which the caller knows to be inside.
#[inline]
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Eight bytes at `at`, which the caller knows to be inside.
#[inline]
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// A range of file bytes; `start + len` does not overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Absolute offset of the first byte.
    pub start: u64,
    /// Number of bytes.
    pub len: u64,
}

impl Span {
    /// A span whose end is representable.
    pub fn new(place: &str, start: u64, len: u64) -> Result<Span> {
        ensure(start.checked_add(len).is_some(), || {
            Error::new(Code::Range, place, format!("{} + {} overflows", start, len))
        })?;
        Ok(Span { start, len })
    }

    /// One past the last byte.
    pub fn end(self) -> u64 {
        self.start + self.len
    }

    /// The bytes themselves.
    pub fn of<'a>(self, bytes: &'a [u8], place: &str) -> Result<&'a [u8]> {
        let outside = || {
            let detail = format!("bytes {}..{} of {}", self.start, self.end(), bytes.len());
            Error::new(Code::Range, place, detail)
        };
        let start = usize::try_from(self.start).map_err(|_| outside())?;
        let end = usize::try_from(self.end()).map_err(|_| outside())?;
        bytes.get(start..end).ok_or_else(outside)
    }

    /// Check that the span starts at a multiple of `alignment`.
    pub fn aligned(self, place: &str, alignment: u64) -> Result<()> {
        ensure(self.start % alignment == 0, || {
            let detail = format!("offset {} is no multiple of {}", self.start, alignment);
            Error::new(Code::Alignment, place, detail)
        })
    }
}

/// Check that all bytes are zero; `offset` is the file offset of the first.
pub fn all_zero(bytes: &[u8], place: &str, offset: u64) -> Result<()> {
    match bytes.iter().position(|&byte| byte != 0) {
        None => Ok(()),
        Some(at) => {
            let detail = format!("byte {} is {}, not 0", offset + at as u64, bytes[at]);
            Err(Error::new(Code::Reserved, place, detail))
        }
    }
}

/// A walk over ranges that must ascend, stay apart and leave only zero bytes between them.
pub struct Walk<'a> {
    bytes: &'a [u8],
    last: Span,
}

impl<'a> Walk<'a> {
    /// Start behind `first`.
    pub fn after(bytes: &'a [u8], first: Span) -> Walk<'a> {
        Walk { bytes, last: first }
    }

    /// Check that the next range ascends and lies in the file.
    pub fn reaches(&self, next: Span, place: &str) -> Result<()> {
        next.of(self.bytes, place)?;
        let code = if next.end() > self.last.start { Code::Overlap } else { Code::Order };
        ensure(next.start >= self.last.end(), || {
            let (start, end) = (next.start, self.last.end());
            Error::new(code, place, format!("starts at {}, the one before ends at {}", start, end))
        })
    }

    /// Take the next range.
    pub fn step(&mut self, next: Span, place: &str) -> Result<()> {
        self.reaches(next, place)?;
        let gap = Span { start: self.last.end(), len: next.start - self.last.end() };
        all_zero(gap.of(self.bytes, place)?, place, gap.start)?;
        self.last = next;
        Ok(())
    }
}

/// Reserve room for `len` elements, without aborting where memory is short.
pub fn reserve<T>(vector: &mut Vec<T>, len: usize) -> Result<()> {
    vector.clear();
    vector.try_reserve_exact(len).map_err(|_| {
        let size = len as u64 * std::mem::size_of::<T>() as u64;
        Error::new(Code::OutOfMemory, "allocation", format!("{} bytes", size))
    })
}
