//! The one spelling of a decoded value.

use super::cbor::{half_of, Value};

/// The bytes of a value. Maps are written in the order they have, which the reader has checked.
pub fn encode(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    put(value, &mut out);
    out
}

fn put(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Unsigned(n) => head(0, *n, out),
        Value::Negative(n) => head(1, *n, out),
        Value::Bytes(bytes) => string(2, bytes, out),
        Value::Text(text) => string(3, text.as_bytes(), out),
        Value::List(items) => {
            head(4, items.len() as u64, out);
            items.iter().for_each(|item| put(item, out));
        }
        Value::Map(pairs) => {
            head(5, pairs.len() as u64, out);
            for (key, item) in pairs {
                string(3, key.as_bytes(), out);
                put(item, out);
            }
        }
        Value::Bool(truth) => out.push(if *truth { 0xf5 } else { 0xf4 }),
        Value::Null => out.push(0xf6),
        Value::Float(value) => float(*value, out),
    }
}

fn head(major: u8, argument: u64, out: &mut Vec<u8>) {
    let major = major << 5;
    let bytes = argument.to_be_bytes();
    let (info, width) = match argument {
        0..=23 => (argument as u8, 0),
        24..=0xff => (24, 1),
        0x100..=0xffff => (25, 2),
        0x1_0000..=0xffff_ffff => (26, 4),
        _ => (27, 8),
    };
    out.push(major | info);
    out.extend_from_slice(&bytes[8 - width..]);
}

fn string(major: u8, bytes: &[u8], out: &mut Vec<u8>) {
    head(major, bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn float(value: f64, out: &mut Vec<u8>) {
    let single = value as f32;
    if let Some(bits) = half_of(value) {
        out.push(0xf9);
        out.extend_from_slice(&bits.to_be_bytes());
    } else if f64::from(single) == value {
        out.push(0xfa);
        out.extend_from_slice(&single.to_bits().to_be_bytes());
    } else {
        out.push(0xfb);
        out.extend_from_slice(&value.to_bits().to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::super::cbor::decode;
    use super::*;

    #[test]
    fn same_bytes_again() {
        let rows: [&[u8]; 9] = [
            b"\x1b\xff\xff\xff\xff\xff\xff\xff\xff",
            b"\x3b\xff\xff\xff\xff\xff\xff\xff\xff",
            b"\xf9\x80\x00",
            b"\xf9\x00\x01",
            b"\xfa\x47\xc3\x50\x00",
            b"\xfb\x3f\xb9\x99\x99\x99\x99\x99\x9a",
            b"\x84\xf4\xf5\xf6\x41\xff",
            b"\xa2\x61b\x61c\x62aa\x81\x18\x18",
            b"\x19\x01\x00",
        ];
        for bytes in rows {
            assert_eq!(encode(&decode(bytes).unwrap()), bytes, "{:02x?}", bytes);
        }
    }
}
