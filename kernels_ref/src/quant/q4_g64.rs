//! `q4_g64`: 32 bytes of nibbles for 64 columns, which share a scale.

use super::grouped::Codes;
use super::nibbles;

/// The format.
pub struct Q4;

impl Codes for Q4 {
    const Q: i8 = 7;
    const GROUP: usize = 64;
    const UNIT: usize = 32;

    #[inline(always)]
    fn unpack(bytes: &[u8], out: &mut [i8; 64]) {
        let mut values = [0; 64];
        nibbles::unpack(bytes, &mut values);
        nibbles::signed(&values, 8, out);
    }

    #[inline(always)]
    fn pack(codes: &[i8; 64], bytes: &mut [u8]) {
        nibbles::pack(codes, bytes);
    }
}
