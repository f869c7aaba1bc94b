//! `q6_g64`: 32 bytes of nibbles for 64 columns, then 16 bytes: byte j holds bits 4 and 5 of the
//! codes j, j + 16, j + 32, j + 48, from bit 0 up.

use super::grouped::Codes;
use super::nibbles;

/// The format.
pub struct Q6;

impl Codes for Q6 {
    const Q: i8 = 31;
    const GROUP: usize = 64;
    const UNIT: usize = 48;

    #[inline(always)]
    fn unpack(bytes: &[u8], out: &mut [i8; 64]) {
        let (low, high) = bytes.split_at(32);
        let mut values = [0; 64];
        nibbles::unpack(low, &mut values);
        let mut joined = [0; 16];
        joined.copy_from_slice(&high[..16]);
        for (quarter, values) in values.chunks_exact_mut(16).enumerate() {
            for (value, byte) in values.iter_mut().zip(joined) {
                *value |= (byte >> (2 * quarter) & 3) << 4;
            }
        }
        nibbles::signed(&values, 32, out);
    }

    #[inline(always)]
    fn pack(codes: &[i8; 64], bytes: &mut [u8]) {
        let (low, high) = bytes.split_at_mut(32);
        nibbles::pack(codes, low);
        for (j, byte) in high.iter_mut().enumerate() {
            let bits = |quarter: usize| (codes[j + 16 * quarter] as u8 >> 4 & 3) << (2 * quarter);
            *byte = bits(0) | bits(1) | bits(2) | bits(3);
        }
    }
}
