//! `trlm-checksum64-v1`: 48 bits over the file's 32-bit words under a tag of 16 bits.

use crate::bytes::{u32_at, u64_at};
use crate::error::{ensure, Code, Error, Result};

const G: u64 = 0x9e37_79b9_7f4b;
const A: u64 = 0xbf58_476d_1ce5;
const B: u64 = 0x94d0_49bb_1331;
const MASK: u64 = (1 << 48) - 1;
const TAG: u64 = 0x3174;
/// The field, which reads as zero.
const FIELD: std::ops::Range<usize> = 100..108;

fn mix(x: u64) -> u64 {
    let x = x.wrapping_mul(A) & MASK;
    let x = (x ^ x >> 24).wrapping_mul(B) & MASK;
    x ^ x >> 24
}

/// The value that the header of these bytes, whole words, should have.
pub fn of(bytes: &[u8]) -> u64 {
    let mut sum = 0u64;
    let mut key = 0u64;
    for (i, word) in bytes.chunks_exact(4).enumerate() {
        key = key.wrapping_add(G);
        let word = if FIELD.contains(&(4 * i)) { 0 } else { u64::from(u32_at(word, 0)) };
        sum = sum.wrapping_add(mix(word.wrapping_add(key)));
    }
    TAG << 48 | mix(sum.wrapping_add((bytes.len() as u64).wrapping_mul(G)) & MASK)
}

/// Refuse another checksum, and apart from that a profile that is not known here.
pub fn verify(bytes: &[u8]) -> Result<()> {
    let stored = u64_at(bytes, FIELD.start);
    ensure(stored >> 48 == TAG, || {
        let detail = format!("{:016x} is of no profile that is known here", stored);
        Error::new(Code::ChecksumProfile, "header.checksum", detail)
    })?;
    let computed = of(bytes);
    ensure(stored == computed, || {
        let detail = format!("{:016x}, the bytes have {:016x}", stored, computed);
        Error::new(Code::Checksum, "header.checksum", detail)
    })
}
