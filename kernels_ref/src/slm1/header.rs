//! The 108 bytes of the header, and the ranges of its sizes.

use super::{field, MAGIC};
use crate::bytes::{u32_at, u64_at};
use crate::error::{ensure, Code, Error, Result};

/// Bytes of the known header.
pub const SIZE: usize = 108;

/// The checked header.
pub struct Header {
    /// Bytes of the whole header.
    pub length: u64,
    /// The output projection is the embedding.
    pub tied: bool,
    pub vocab: u32,
    pub hidden: u32,
    pub layers: u32,
    pub heads: u32,
    pub kv_heads: u32,
    pub head_dim: u32,
    pub ffn: u32,
    pub max_context: u32,
    pub rope_theta: f32,
    pub rms_eps: f32,
    /// Offset and length, not yet held against the file.
    pub tokenizer: (u64, u64),
    /// Offset and length, too.
    pub directory: (u64, u64),
    /// Where payloads may begin.
    pub data: u64,
}

/// Name, byte offset, least and most.
const SIZES: [(&str, usize, u32, u32); 8] = [
    ("vocab", 20, 1, 1 << 24),
    ("hidden", 28, 1, 1 << 17),
    ("layers", 32, 1, 1024),
    ("heads", 36, 1, 4096),
    ("kv_heads", 40, 1, 4096),
    ("head_dim", 44, 2, 4096),
    ("ffn", 48, 1, 1 << 19),
    ("max_context", 52, 1, 0x7fff_ffff),
];

fn refuse(code: Code, name: &str, got: impl std::fmt::Display, rule: &str) -> Error {
    Error::new(code, format!("header.{}", name), format!("{}, expected {}", got, rule))
}

fn same(code: Code, name: &str, got: u32, expected: u32) -> Result<()> {
    ensure(got == expected, || refuse(code, name, got, &expected.to_string()))
}

impl Header {
    /// Read and check the header alone.
    pub fn parse(bytes: &[u8]) -> Result<Header> {
        if field(bytes, 0).is_some() {
            ensure(&bytes[..4] == MAGIC, || refuse(Code::Magic, "magic", "other bytes", "SLM1"))?;
        }
        let raw = bytes
            .get(..SIZE)
            .ok_or_else(|| refuse(Code::Truncated, "file", bytes.len(), "at least 108"))?;
        same(Code::Version, "version", u32_at(raw, 4), 1)?;
        same(Code::Version, "model_type", u32_at(raw, 12), 1)?;
        let (length, flags) = (u32_at(raw, 8), u32_at(raw, 16));
        ensure(length >= SIZE as u32, || {
            refuse(Code::HeaderLen, "header_length", length, "at least 108")
        })?;
        ensure(flags & !1 == 0, || refuse(Code::Flags, "flags", flags, "bit 0 at most"))?;
        ensure(bytes.len() % 64 == 0, || {
            refuse(Code::Length, "file", bytes.len(), "a multiple of 64")
        })?;
        check_shape(raw, flags == 1)?;
        let directory = u64::from(u32_at(raw, 88)) * super::entry::SIZE as u64;
        Ok(Header {
            length: length.into(),
            tied: flags == 1,
            vocab: u32_at(raw, 20),
            hidden: u32_at(raw, 28),
            layers: u32_at(raw, 32),
            heads: u32_at(raw, 36),
            kv_heads: u32_at(raw, 40),
            head_dim: u32_at(raw, 44),
            ffn: u32_at(raw, 48),
            max_context: u32_at(raw, 52),
            rope_theta: f32::from_bits(u32_at(raw, 56)),
            rms_eps: f32::from_bits(u32_at(raw, 60)),
            tokenizer: (u64_at(raw, 64), u64_at(raw, 72)),
            directory: (u64_at(raw, 80), directory),
            data: u64_at(raw, 92),
        })
    }
}

fn check_shape(raw: &[u8], tied: bool) -> Result<()> {
    for &(name, at, least, most) in &SIZES {
        let value = u32_at(raw, at);
        ensure((least..=most).contains(&value), || {
            refuse(Code::ConfigField, name, value, &format!("{} to {}", least, most))
        })?;
    }
    let theta = f32::from_bits(u32_at(raw, 56));
    ensure((1.0..=1e12).contains(&theta), || {
        refuse(Code::ConfigField, "rope_theta", theta, "1 to 1e12")
    })?;
    let eps = f32::from_bits(u32_at(raw, 60));
    ensure((f32::MIN_POSITIVE..=1.0).contains(&eps), || {
        refuse(Code::ConfigField, "rms_eps", eps, "2^-126 to 1")
    })?;
    let (heads, shared) = (u32_at(raw, 36), u32_at(raw, 40));
    ensure(heads % shared == 0, || {
        refuse(Code::ConfigField, "kv_heads", shared, &format!("a divisor of {}", heads))
    })?;
    let width = u32_at(raw, 44);
    ensure(width % 2 == 0, || refuse(Code::ConfigField, "head_dim", width, "an even number"))?;
    same(Code::ConfigField, "special_token_count", u32_at(raw, 24), 4)?;
    let (count, all) = (u32_at(raw, 88), 9 * u32_at(raw, 32) + 3);
    ensure(count == all || (tied && count == all - 1), || {
        refuse(Code::ConfigField, "tensor_count", count, &all.to_string())
    })
}
