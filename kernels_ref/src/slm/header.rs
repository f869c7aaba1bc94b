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
    /// Read and check the header alone.
    pub fn parse(bytes: &[u8]) -> Result<Header> {
        let raw = Span { start: 0, len: SIZE as u64 }.of(bytes, "header")?;
        check_fixed(raw, bytes.len() as u64)?;
        let table = |at: usize, count: u32, size: usize, name: &str| {
            Span::new(name, u64_at(raw, at), u64::from(count) * size as u64)
        };
        let (tensor_count, piece_count) = (u32_at(raw, 72), u32_at(raw, 88));
        let shard_count = u32_at(raw, 104);
        let body_off = u64_at(raw, 224);
        ensure(body_off <= bytes.len() as u64, || {
            field(Code::Truncated, "body_off", body_off, bytes.len() as u64)
        })?;
        let mut shape = [0; 8];
        for (slot, at) in shape.iter_mut().zip([24, 28, 32, 36, 40, 44, 48, 60]) {
            *slot = u32_at(raw, at);
        }
        Ok(Header {
            shape,
            rope_theta: u32_at(raw, 52),
            rms_eps: u32_at(raw, 56),
            tensor_count,
            piece_count,
            shard_count,
            strings: table(208, u32_at(raw, 92), 1, "string table")?,
            config: table(216, u32_at(raw, 108), 1, "configuration")?,
            directory: table(64, tensor_count, descriptor::SIZE, "directory")?,
            tokenizer: Span::new("tokenizer", u64_at(raw, 112), u64_at(raw, 120))?,
            pieces: table(80, piece_count, pieces::PIECE_DESC, "piece table")?,
            shards: table(96, shard_count, pieces::SHARD_DESC, "shard table")?,
            body: Span { start: body_off, len: bytes.len() as u64 - body_off },
            self_sha256: hash_at(raw, 136),
            merkle_root: hash_at(raw, 168),
        })
    }

    /// Sections ascend, are aligned, stay apart, and only zeros stand between them.
    pub fn check_sections(&self, bytes: &[u8]) -> Result<()> {
        let mut walk = Walk::after(bytes, Span { start: 0, len: SIZE as u64 });
        let sections = [
            ("string table", self.strings, 1),
            ("configuration", self.config, 1),
            ("directory", self.directory, 16),
            ("tokenizer", self.tokenizer, 1),
            ("piece table", self.pieces, 16),
            ("shard table", self.shards, 16),
            ("body", self.body, 4096),
        ];
        for (name, span, alignment) in sections {
            // An absent section has offset 0 instead of a place in the order.
            if span == (Span { start: 0, len: 0 }) {
                continue;
            }
            span.aligned(name, alignment)?;
            walk.step(span, name)?;
        }
        Ok(())
    }
}

/// Fields with one allowed value.
fn check_fixed(raw: &[u8], file_len: u64) -> Result<()> {
    ensure(&raw[..4] == b"SLM2", || {
        Error::new(Code::Magic, "header.magic", format!("{:02x?}, expected SLM2", &raw[..4]))
    })?;
    let same = |code: Code, name: &str, got: u64, expected: u64| {
        ensure(got == expected, || field(code, name, got, expected))
    };
    same(Code::Version, "abi_major", u16_at(raw, 4).into(), 2)?;
    same(Code::Version, "abi_minor", u16_at(raw, 6).into(), 0)?;
    same(Code::HeaderLen, "header_len", u32_at(raw, 8).into(), SIZE as u64)?;
    let required = u64_at(raw, 16) & 0xffff_ffff;
    same(Code::Flags, "flags (required bits)", required, 0)?;
    same(Code::Length, "tensor_desc_size", u16_at(raw, 76).into(), descriptor::SIZE as u64)?;
    same(Code::Length, "artifact_len", u64_at(raw, 128), file_len)?;
    same(Code::Reserved, "legacy_checksum64", u64_at(raw, 200), 0)?;
    for (start, end) in [(12, 16), (78, 80), (232, 256)] {
        all_zero(&raw[start..end], "header.reserved", start as u64)?;
    }
    Ok(())
}
