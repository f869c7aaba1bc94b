//! The strict reader of the canonical encoding; checks stand in the order of the format page.

use super::finding::{refused, Finding};

/// Most bytes of a document.
pub const FILE_BYTES: u64 = 1 << 24;
const ITEMS: u32 = 1_000_000;
const DEPTH: usize = 16;

/// A decoded data item. Floats keep their value as f64, which every width fits into.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Major type 0.
    Unsigned(u64),
    /// Major type 1: the value is -1 - n.
    Negative(u64),
    /// A byte string.
    Bytes(Vec<u8>),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// A map, in the order of the file.
    Map(Vec<(String, Value)>),
    /// false or true.
    Bool(bool),
    /// null.
    Null,
    /// A finite float.
    Float(f64),
}

/// The value of a whole file, or its first broken rule.
pub fn decode(bytes: &[u8]) -> Result<Value, Finding> {
    if bytes.len() as u64 > FILE_BYTES {
        return Err(refused("GOLDEN_SIZE", "case.cbor", "too many bytes"));
    }
    let mut reader = Reader { bytes, at: 0, items: 0 };
    let value = reader.item(0)?;
    if reader.at < bytes.len() {
        return Err(fault("GOLDEN_TRAILING", reader.at, "bytes follow the value"));
    }
    Ok(value)
}

fn fault(code: &'static str, at: usize, detail: &str) -> Finding {
    refused(code, format!("byte {}", at), detail)
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    items: u32,
}

impl<'a> Reader<'a> {
    fn left(&self) -> u64 {
        self.bytes.len().saturating_sub(self.at) as u64
    }

    fn take(&mut self, len: u64, start: usize) -> Result<&'a [u8], Finding> {
        let end = usize::try_from(len).ok().and_then(|len| self.at.checked_add(len));
        let taken = end.and_then(|end| self.bytes.get(self.at..end));
        let taken = taken
            .ok_or_else(|| fault("GOLDEN_TRUNCATED", start, "the item runs past the last byte"))?;
        self.at += taken.len();
        Ok(taken)
    }

    /// `depth` counts the maps and lists around the item.
    fn item(&mut self, depth: usize) -> Result<Value, Finding> {
        let start = self.at;
        let head = match self.bytes.get(start) {
            Some(&head) => head,
            None => return Err(fault("GOLDEN_TRUNCATED", start, "no item is here")),
        };
        self.items += 1;
        if self.items > ITEMS {
            return Err(fault("GOLDEN_SIZE", start, "too many data items"));
        }
        check_head(head, start)?;
        self.at += 1;
        let (major, info) = (head >> 5, head & 31);
        if major == 7 {
            return self.simple(info, start);
        }
        let argument = self.argument(info, start)?;
        match major {
            0 => Ok(Value::Unsigned(argument)),
            1 => Ok(Value::Negative(argument)),
            2 => Ok(Value::Bytes(self.take(argument, start)?.to_vec())),
            3 => match std::str::from_utf8(self.take(argument, start)?) {
                Ok(text) => Ok(Value::Text(text.to_owned())),
                Err(_) => Err(fault("GOLDEN_UTF8", start, "the bytes are no UTF-8")),
            },
            _ => self.container(major == 5, argument, depth + 1, start),
        }
    }

    fn argument(&mut self, info: u8, start: usize) -> Result<u64, Finding> {
        let (width, least) = match info {
            24 => (1, 24),
            25 => (2, 1 << 8),
            26 => (4, 1 << 16),
            27 => (8, 1 << 32),
            small => return Ok(u64::from(small)),
        };
        let value = big_endian(self.take(width, start)?);
        if value < least {
            return Err(fault("GOLDEN_INTEGER", start, "not in its shortest form"));
        }
        Ok(value)
    }

    fn simple(&mut self, info: u8, start: usize) -> Result<Value, Finding> {
        let (value, shortest) = match info {
            20 => return Ok(Value::Bool(false)),
            21 => return Ok(Value::Bool(true)),
            22 => return Ok(Value::Null),
            25 => (widened(big_endian(self.take(2, start)?)), true),
            26 => {
                let value = f64::from(f32::from_bits(big_endian(self.take(4, start)?) as u32));
                (value, half_of(value).is_none())
            }
            _ => {
                let value = f64::from_bits(big_endian(self.take(8, start)?));
                (value, f64::from(value as f32) != value)
            }
        };
        if !value.is_finite() {
            return Err(fault("GOLDEN_NONFINITE", start, "the float is not finite"));
        }
        if !shortest {
            return Err(fault("GOLDEN_FLOAT", start, "not in its shortest form"));
        }
        Ok(Value::Float(value))
    }

    fn container(
        &mut self,
        map: bool,
        count: u64,
        depth: usize,
        start: usize,
    ) -> Result<Value, Finding> {
        if depth > DEPTH {
            return Err(fault("GOLDEN_DEPTH", start, "maps and lists are nested too deep"));
        }
        if count > self.left() / if map { 2 } else { 1 } {
            return Err(fault("GOLDEN_TRUNCATED", start, "fewer bytes follow than it has items"));
        }
        if !map {
            let mut items = Vec::new();
            for _ in 0..count {
                items.push(self.item(depth)?);
            }
            return Ok(Value::List(items));
        }
        let mut pairs: Vec<(String, Value)> = Vec::new();
        for _ in 0..count {
            let key = self.key(pairs.last().map(|(key, _)| key.as_str()), depth)?;
            pairs.push((key, self.item(depth)?));
        }
        Ok(Value::Map(pairs))
    }

    fn key(&mut self, before: Option<&str>, depth: usize) -> Result<String, Finding> {
        let start = self.at;
        if self.bytes.get(start).map_or(false, |head| head >> 5 != 3) {
            return Err(fault("GOLDEN_KEY_TYPE", start, "the map key is no text"));
        }
        let key = match self.item(depth)? {
            Value::Text(key) => key,
            _ => return Err(fault("GOLDEN_KEY_TYPE", start, "the map key is no text")),
        };
        if let Some(before) = before {
            if key == before {
                return Err(fault("GOLDEN_DUPLICATE_KEY", start, "the key stands twice"));
            }
            if (key.len(), key.as_bytes()) < (before.len(), before.as_bytes()) {
                return Err(fault("GOLDEN_KEY_ORDER", start, "the keys do not ascend"));
            }
        }
        Ok(key)
    }
}

fn check_head(head: u8, start: usize) -> Result<(), Finding> {
    let (major, info) = (head >> 5, head & 31);
    match (major, info) {
        (6, _) => Err(fault("GOLDEN_TAG", start, "a tag")),
        (_, 28..=30) => Err(fault("GOLDEN_RESERVED", start, "a reserved initial byte")),
        (_, 31) => Err(fault("GOLDEN_INDEFINITE", start, "an indefinite length")),
        (7, 0..=19) | (7, 23..=24) => {
            Err(fault("GOLDEN_RESERVED", start, "a simple value without a meaning here"))
        }
        _ => Ok(()),
    }
}

fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |all, &byte| all << 8 | u64::from(byte))
}

/// The value of the bits of a half-precision float.
pub fn widened(bits: u64) -> f64 {
    let (exponent, fraction) = ((bits >> 10) & 31, (bits & 1023) as f64);
    let size = match exponent {
        0 => fraction / 16_777_216.0,
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        // 2^(exponent - 25) by its bits; the exponent of an f64 is biased by 1023.
        _ => (1024.0 + fraction) * f64::from_bits((exponent + 998) << 52),
    };
    if bits >> 15 & 1 == 1 {
        -size
    } else {
        size
    }
}

/// The bits of the half-precision float that has exactly this value, if there is one.
pub fn half_of(value: f64) -> Option<u16> {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let size = value.abs();
    let scaled = if size < f64::from_bits(1009 << 52) {
        // Below 2^-14: subnormal halves are multiples of 2^-24.
        size * 16_777_216.0
    } else {
        let exponent = (size.to_bits() >> 52) - 1008;
        if exponent > 30 {
            return None;
        }
        let fraction = size / f64::from_bits((exponent + 998) << 52) - 1024.0;
        fraction + (exponent * 1024) as f64
    };
    let bits = scaled as u16;
    if f64::from(bits) == scaled {
        Some(sign | bits)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(bytes: &[u8]) -> Option<(&'static str, String)> {
        decode(bytes).err().map(|finding| (finding.code, finding.place))
    }

    #[test]
    fn every_half_has_its_own_bits() {
        for bits in 0..=u16::MAX {
            let value = widened(u64::from(bits));
            if value.is_finite() {
                assert_eq!(half_of(value), Some(bits), "{:04x}", bits);
            }
        }
    }

    #[test]
    fn others_have_none() {
        for value in [0.1, 65520.0, 1e300, 5e-324, 1.0 + 1.0 / 2048.0, f64::MAX, 3e-8] {
            assert_eq!(half_of(value), None, "{}", value);
        }
    }

    #[test]
    fn first_faults() {
        let rows: [(&[u8], &str, &str); 19] = [
            (b"", "GOLDEN_TRUNCATED", "byte 0"),
            (b"\x18\x17", "GOLDEN_INTEGER", "byte 0"),
            (b"\x78\x01a", "GOLDEN_INTEGER", "byte 0"),
            (b"\x81\xfa\x3f\x80\x00\x00", "GOLDEN_FLOAT", "byte 1"),
            (b"\xf9\x7e\x01", "GOLDEN_NONFINITE", "byte 0"),
            (b"\xfb\x7f\xf0\x00\x00\x00\x00\x00\x00", "GOLDEN_NONFINITE", "byte 0"),
            (b"\x9f\xff", "GOLDEN_INDEFINITE", "byte 0"),
            (b"\xff", "GOLDEN_INDEFINITE", "byte 0"),
            (b"\xc0\x00", "GOLDEN_TAG", "byte 0"),
            (b"\x1c", "GOLDEN_RESERVED", "byte 0"),
            (b"\xf7", "GOLDEN_RESERVED", "byte 0"),
            (b"\xf8\x20", "GOLDEN_RESERVED", "byte 0"),
            (b"\x62\xff\xff", "GOLDEN_UTF8", "byte 0"),
            (b"\xa1\x01\x02", "GOLDEN_KEY_TYPE", "byte 1"),
            (b"\xa2\x61b\x01\x61a\x02", "GOLDEN_KEY_ORDER", "byte 4"),
            (b"\xa2\x61a\x01\x61a\x02", "GOLDEN_DUPLICATE_KEY", "byte 4"),
            (b"\x01\x00", "GOLDEN_TRAILING", "byte 1"),
            (b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff", "GOLDEN_TRUNCATED", "byte 0"),
            (b"\xbb\x80\x00\x00\x00\x00\x00\x00\x00", "GOLDEN_TRUNCATED", "byte 0"),
        ];
        for (bytes, wanted, place) in rows {
            assert_eq!(code(bytes), Some((wanted, place.to_owned())), "{:02x?}", bytes);
        }
    }

    #[test]
    fn sixteen_deep_and_no_deeper() {
        assert_eq!(code(&[[0x81; 16].as_slice(), &[0]].concat()), None);
        let deep = code(&[[0x81; 17].as_slice(), &[0]].concat());
        assert_eq!(deep, Some(("GOLDEN_DEPTH", "byte 16".to_owned())));
    }
}
