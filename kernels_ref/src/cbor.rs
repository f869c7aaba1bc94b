//! A pull reader of deterministic CBOR (RFC 8949 section 4.2.1), as far as a configuration goes.
//!
//! Refused: indefinite lengths, tags, non-shortest integers and floats, NaN and infinities,
//! unsorted or repeated keys, keys that are no text, trailing bytes.

use crate::error::{ensure, Code, Error, Result};
use crate::quant::f16;

/// One data item; of an array only the head, its elements follow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Item<'a> {
    /// Major type 0.
    Unsigned(u64),
    /// Major type 1: the value is -1 - n.
    Negative(u64),
    /// A float of any width.
    Float(f64),
    /// A byte string.
    Bytes(&'a [u8]),
    /// A text.
    Text(&'a str),
    /// An array of so many items.
    Array(u64),
    /// A map of so many pairs.
    Map(u64),
    /// true or false.
    Bool(bool),
    /// null.
    Null,
}

impl Item<'_> {
    /// What it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Item::Unsigned(_) => "an unsigned integer",
            Item::Negative(_) => "a negative integer",
            Item::Float(_) => "a float",
            Item::Bytes(_) => "a byte string",
            Item::Text(_) => "a text",
            Item::Array(_) => "a list",
            Item::Map(_) => "a map",
            Item::Bool(_) => "a truth value",
            Item::Null => "null",
        }
    }
}

/// Reads items from the front of a slice.
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    what: &'static str,
}

impl<'a> Reader<'a> {
    /// Read from the first byte on.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader::named(bytes, "configuration")
    }

    /// As `new`; errors call the bytes `what`.
    pub fn named(bytes: &'a [u8], what: &'static str) -> Reader<'a> {
        Reader { bytes, at: 0, what }
    }

    fn broken(&self, detail: &str) -> Error {
        Error::new(Code::Cbor, format!("{} byte {}", self.what, self.at), detail)
    }

    fn take(&mut self, len: u64) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let len = usize::try_from(len).ok().filter(|&len| len <= rest.len());
        let len = len.ok_or_else(|| self.broken("an item ends behind the section"))?;
        self.at += len;
        Ok(&rest[..len])
    }

    fn big_endian(&mut self, len: u64) -> Result<u64> {
        Ok(self.take(len)?.iter().fold(0, |all, &byte| all << 8 | u64::from(byte)))
    }

    /// The argument of a head whose low five bits are `info`.
    fn argument(&mut self, info: u8) -> Result<u64> {
        let (len, least) = match info {
            0..=23 => return Ok(info.into()),
            24 => (1, 24),
            25 => (2, 1 << 8),
            26 => (4, 1 << 16),
            27 => (8, 1 << 32),
            _ => return Err(self.broken("an indefinite or reserved length")),
        };
        let value = self.big_endian(len)?;
        ensure(value >= least, || self.broken("an integer is not in its shortest form"))?;
        Ok(value)
    }

    /// The next item.
    pub fn item(&mut self) -> Result<Item<'a>> {
        let head = self.take(1)?[0];
        let info = head & 31;
        match head >> 5 {
            0 => Ok(Item::Unsigned(self.argument(info)?)),
            1 => Ok(Item::Negative(self.argument(info)?)),
            2 => {
                let len = self.argument(info)?;
                Ok(Item::Bytes(self.take(len)?))
            }
            3 => {
                let len = self.argument(info)?;
                let text = std::str::from_utf8(self.take(len)?);
                Ok(Item::Text(text.map_err(|_| self.broken("a text is no UTF-8"))?))
            }
            4 => Ok(Item::Array(self.argument(info)?)),
            5 => Ok(Item::Map(self.argument(info)?)),
            7 => self.simple(info),
            _ => Err(self.broken("a tag")),
        }
    }

    fn simple(&mut self, info: u8) -> Result<Item<'a>> {
        let value = match info {
            20 => return Ok(Item::Bool(false)),
            21 => return Ok(Item::Bool(true)),
            22 => return Ok(Item::Null),
            25 => f64::from(f16::to_f32(self.big_endian(2)? as u16)),
            26 => f64::from(f32::from_bits(self.big_endian(4)? as u32)),
            27 => f64::from_bits(self.big_endian(8)?),
            _ => return Err(self.broken("an unknown simple value")),
        };
        let narrow = value as f32;
        let fits_f32 = f64::from(narrow) == value;
        let shortest = match info {
            25 => true,
            26 => !f16::holds(narrow),
            _ => !fits_f32,
        };
        ensure(value.is_finite(), || self.broken("a float is not finite"))?;
        ensure(shortest, || self.broken("a float is not in its shortest form"))?;
        Ok(Item::Float(value))
    }

    /// The next key of a map: a text that sorts after `previous` (by length, then bytewise).
    pub fn key(&mut self, previous: Option<&str>) -> Result<&'a str> {
        let key = match self.item()? {
            Item::Text(key) => key,
            _ => return Err(self.broken("a key is no text")),
        };
        let ascends =
            previous.map_or(true, |p| (p.len(), p.as_bytes()) < (key.len(), key.as_bytes()));
        ensure(ascends, || self.broken("the keys do not ascend"))?;
        Ok(key)
    }

    /// Check that nothing is left.
    pub fn end(&self) -> Result<()> {
        ensure(self.at == self.bytes.len(), || self.broken("bytes follow the value"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(bytes: &[u8]) -> std::result::Result<Item<'_>, Code> {
        Reader::new(bytes).item().map_err(|error| error.code)
    }

    #[test]
    fn items() {
        assert_eq!(first(&[0x18, 0x18]), Ok(Item::Unsigned(24)));
        assert_eq!(first(&[0x20]), Ok(Item::Negative(0)));
        assert_eq!(first(&[0xf9, 0x3c, 0x00]), Ok(Item::Float(1.0)));
        assert_eq!(first(&[0xfa, 0x47, 0xc3, 0x50, 0x00]), Ok(Item::Float(100000.0)));
        assert_eq!(first(b"\x62ok"), Ok(Item::Text("ok")));
        assert_eq!(first(&[0x41, 7]), Ok(Item::Bytes(&[7])));
        assert_eq!(first(&[0xf6]), Ok(Item::Null));
    }

    #[test]
    fn other_spellings_are_refused() {
        let bad: [&[u8]; 12] = [
            &[],
            &[0x18, 0x17],
            &[0x19, 0x00, 0xff],
            &[0x9f, 0xff],
            &[0xc1, 0x00],
            &[0x41],
            &[0xf9, 0x7c, 0x00],
            &[0xfa, 0x3f, 0x80, 0x00, 0x00],
            &[0xfb, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0],
            &[0x62, 0xff, 0xff],
            &[0x7b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            &[0xf7],
        ];
        for bytes in bad {
            assert_eq!(first(bytes), Err(Code::Cbor), "{:02x?}", bytes);
        }
    }

    #[test]
    fn keys_ascend() {
        assert!(Reader::new(b"\x61b").key(Some("a")).is_ok());
        assert!(Reader::new(b"\x61b").key(Some("b")).is_err());
        assert!(Reader::new(b"\x61b").key(Some("aa")).is_err());
        assert!(Reader::new(b"\x01").key(None).is_err());
    }
}
