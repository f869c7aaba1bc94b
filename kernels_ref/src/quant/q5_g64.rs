//! `q5_g64`: 32 bytes of nibbles for 64 columns, then bit 4 of each code, code 0 lowest.

use super::grouped::Codes;
use super::nibbles;

/// The format.
pub struct Q5;

impl Codes for Q5 {
    const Q: i8 = 15;
    const GROUP: usize = 64;
    const UNIT: usize = 40;

    #[inline]
    fn unpack(bytes: &[u8], out: &mut [i8; 64]) {
        let (low, high) = bytes.split_at(32);
        let mut values = [0; 64];
        nibbles::unpack(low, &mut values);
        for (values, &byte) in values.chunks_exact_mut(8).zip(high) {
            for (i, value) in values.iter_mut().enumerate() {
                *value |= (byte >> i & 1) << 4;
            }
        }
        nibbles::signed(&values, 16, out);
    }

    fn pack(codes: &[i8; 64], bytes: &mut [u8]) {
        let (low, high) = bytes.split_at_mut(32);
        nibbles::pack(codes, low);
        for (codes, byte) in codes.chunks_exact(8).zip(high) {
            *byte = (0..8).fold(0, |byte, i| byte | (codes[i] as u8 >> 4 & 1) << i);
        }
    }
}
