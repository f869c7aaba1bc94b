//! The piece table, which covers the body in steps of one MiB, and the one shard of a file.

use super::header::Header;
use crate::bytes::{u16_at, u32_at, u64_at};
use crate::error::{ensure, Code, Error, Result};

/// Bytes of a piece; the last may be shorter.
pub const PIECE: u64 = 1 << 20;

/// Bytes of a piece descriptor.
pub const PIECE_DESC: usize = 56;

/// Bytes of a shard descriptor.
pub const SHARD_DESC: usize = 52;

/// Check both tables against the body.
pub fn check(bytes: &[u8], header: &Header) -> Result<()> {
    let body = header.body;
    let wanted = (body.len + PIECE - 1) / PIECE;
    same(Code::Pieces, "piece_count", u64::from(header.piece_count), wanted)?;
    let table = header.pieces.of(bytes, "piece table")?;
    for (i, raw) in table.chunks_exact(PIECE_DESC).enumerate() {
        let start = i as u64 * PIECE;
        let len = PIECE.min(body.len - start);
        let fields = [
            ("piece_index", u32_at(raw, 0).into(), i as u64),
            ("shard_index", u32_at(raw, 4).into(), 0),
            ("file_off", u64_at(raw, 8), body.start + start),
            ("stored_len", u32_at(raw, 16).into(), len),
            ("logical_len", u32_at(raw, 20).into(), len),
        ];
        for (name, got, expected) in fields {
            if got != expected {
                return same(Code::Pieces, &format!("piece {} {}", i, name), got, expected);
            }
        }
    }
    check_shard(bytes, header)
}

fn check_shard(bytes: &[u8], header: &Header) -> Result<()> {
    same(Code::Shards, "shard_count", header.shard_count.into(), 1)?;
    let raw = header.shards.of(bytes, "shard table")?;
    let (kind, codec) = (u16_at(raw, 4), u16_at(raw, 6));
    for (name, number) in [("kind", kind), ("codec", codec)] {
        ensure(number <= 2, || {
            Error::new(Code::UnknownNumber, format!("shard {}", name), format!("{}", number))
        })?;
        same(Code::Unsupported, &format!("shard {}", name), number.into(), 0)?;
    }
    same(Code::Shards, "shard_index", u32_at(raw, 0).into(), 0)?;
    same(Code::Shards, "artifact_family", u32_at(raw, 8).into(), 0)?;
    same(Code::Shards, "shard_len", u64_at(raw, 12), header.body.len)
}

fn same(code: Code, place: &str, got: u64, expected: u64) -> Result<()> {
    ensure(got == expected, || Error::new(code, place, format!("{}, expected {}", got, expected)))
}
