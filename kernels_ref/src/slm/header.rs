//! The 256-byte header, and the order of the sections that it points at.

use super::{descriptor, pieces};
use crate::bytes::{all_zero, u16_at, u32_at, u64_at, Span, Walk};
use crate::error::{ensure, Code, Error, Result};

/// Length of the 2.0 header.
pub const SIZE: usize = 256;

/// The checked header; spans are absolute and their ends do not overflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// vocab, layers, heads, kv_heads, head_dim, ffn, max_context_declared, hidden.
    pub shape: [u32; 8],
    /// Bits of the f32 RoPE base.
    pub rope_theta: u32,
    /// Bits of the f32 epsilon.
    pub rms_eps: u32,
    /// Number of tensor descriptors.
    pub tensor_count: u32,
    /// Number of pieces of the body.
    pub piece_count: u32,
    /// Number of shards.
    pub shard_count: u32,
    /// String table.
    pub strings: Span,
    /// Configuration.
    pub config: Span,
    /// Tensor directory.
    pub directory: Span,
    /// Tokenizer section.
    pub tokenizer: Span,
    /// Piece table.
    pub pieces: Span,
    /// Shard table.
    pub shards: Span,
    /// Tensor payloads, up to the end of the file.
    pub body: Span,
    /// Hash of the file with bytes 136..208 read as zero.
    pub self_sha256: [u8; 32],
    /// Root over the body's pieces.
    pub merkle_root: [u8; 32],
}

fn hash_at(raw: &[u8], at: usize) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(&raw[at..at + 32]);
    hash
}

fn field(code: Code, name: &str, got: u64, expected: u64) -> Error {
    Error::new(code, format!("header.{}", name), format!("{}, expected {}", got, expected))
}

impl Header {
    /// Read and check the header, and where the sections stand: in order, aligned, apart, with
    /// zeros between them.
    pub fn parse(bytes: &[u8]) -> Result<Header> {
        if let Some(magic) = bytes.get(..4) {
            ensure(magic == b"SLM2", || {
                let detail = format!("{:02x?}, expected SLM2", magic);
                Error::new(Code::Magic, "header.magic", detail)
            })?;
        }
        let raw = bytes
            .get(..SIZE)
            .ok_or_else(|| field(Code::Truncated, "the file", bytes.len() as u64, SIZE as u64))?;
        let size = bytes.len() as u64;
        check_fixed(raw, size)?;
        let mut walk = Walk::after(bytes, Span { start: 0, len: SIZE as u64 });
        let mut section = |at: usize, len: u64, alignment: u64, name: &str| {
            section(&mut walk, (u64_at(raw, at), len), alignment, name)
        };
        let count = |at: usize, each: usize| u64::from(u32_at(raw, at)) * each as u64;
        let strings = section(208, count(92, 1), 1, "string table")?;
        let config = section(216, count(108, 1), 1, "configuration")?;
        let directory = section(64, count(72, descriptor::SIZE), 16, "directory")?;
        let tokenizer = section(112, u64_at(raw, 120), 1, "tokenizer")?;
        let pieces = section(80, count(88, pieces::PIECE_DESC), 16, "piece table")?;
        let shards = section(96, count(104, pieces::SHARD_DESC), 16, "shard table")?;
        let body_off = u64_at(raw, 224);
        let body_len = size
            .checked_sub(body_off)
            .ok_or_else(|| field(Code::Range, "body_off", body_off, size))?;
        let body = section(224, body_len, 4096, "body")?;
        let mut shape = [0; 8];
        for (slot, at) in shape.iter_mut().zip([24, 28, 32, 36, 40, 44, 48, 60]) {
            *slot = u32_at(raw, at);
        }
        Ok(Header {
            shape,
            rope_theta: u32_at(raw, 52),
            rms_eps: u32_at(raw, 56),
            tensor_count: u32_at(raw, 72),
            piece_count: u32_at(raw, 88),
            shard_count: u32_at(raw, 104),
            strings,
            config,
            directory,
            tokenizer,
            pieces,
            shards,
            body,
            self_sha256: hash_at(raw, 136),
            merkle_root: hash_at(raw, 168),
        })
    }
}

/// The next section; an empty one may have offset 0 instead of a place in the order.
fn section(
    walk: &mut Walk<'_>,
    (start, len): (u64, u64),
    alignment: u64,
    name: &str,
) -> Result<Span> {
    let span = Span::new(name, start, len)?;
    if (start, len) != (0, 0) {
        walk.reaches(span, name)?;
        span.aligned(name, alignment)?;
        walk.step(span, name)?;
    }
    Ok(span)
}

/// Fields with one allowed value.
fn check_fixed(raw: &[u8], file_len: u64) -> Result<()> {
    let same = |code: Code, name: &str, got: u64, expected: u64| {
        ensure(got == expected, || field(code, name, got, expected))
    };
    same(Code::Version, "abi_major", u16_at(raw, 4).into(), 2)?;
    same(Code::Version, "abi_minor", u16_at(raw, 6).into(), 0)?;
    same(Code::HeaderLen, "header_len", u32_at(raw, 8).into(), SIZE as u64)?;
    let required = u64_at(raw, 16) & 0xffff_ffff;
    same(Code::Flags, "flags (required bits)", required, 0)?;
    for (start, end) in [(12, 16), (78, 80), (232, 256)] {
        all_zero(&raw[start..end], "header.reserved", start as u64)?;
    }
    same(Code::Length, "tensor_desc_size", u16_at(raw, 76).into(), descriptor::SIZE as u64)?;
    same(Code::Length, "legacy_checksum64", u64_at(raw, 200), 0)?;
    same(Code::Truncated, "artifact_len", u64_at(raw, 128), file_len)
}
