//! `q5_g64`: 32 bytes of nibbles for 64 columns, then bit 4 of each code, code 0 lowest.

use super::grouped::Codes;
use super::nibbles;

/// The bit of each code within its byte.
const BIT: [u8; 64] = {
    let (mut bits, mut i) = ([0; 64], 0);
    while i < 64 {
        bits[i] = 1 << (i % 8);
        i += 1;
    }
    bits
};

/// The format.
pub struct Q5;

impl Codes for Q5 {
    const Q: i8 = 15;
    const GROUP: usize = 64;
    const UNIT: usize = 40;

    #[inline(always)]
    fn unpack(bytes: &[u8], out: &mut [i8; 64]) {
        let (low, high) = bytes.split_at(32);
        let mut values = [0; 64];
        nibbles::unpack(low, &mut values);
        // Each byte eight times over, so that there are lanes to fill.
        let mut tops = [0; 64];
        for (tops, &byte) in tops.chunks_exact_mut(8).zip(high) {
            tops.copy_from_slice(&[byte; 8]);
        }
        for (i, out) in out.iter_mut().enumerate() {
            let sign = if tops[i] & BIT[i] == BIT[i] { 0xf0 } else { 0 };
            *out = (values[i] | sign) as i8;
        }
    }

    #[inline(always)]
    fn pack(codes: &[i8; 64], bytes: &mut [u8]) {
        let (low, high) = bytes.split_at_mut(32);
        nibbles::pack(codes, low);
        for (codes, byte) in codes.chunks_exact(8).zip(high) {
            *byte = (0..8).fold(0, |byte, i| byte | (codes[i] as u8 >> 4 & 1) << i);
        }
    }
}
