//! `q8_r128`: one byte a code, in column order, a scale for 128 columns.

use super::grouped::Codes;

/// The format.
pub struct Q8;

impl Codes for Q8 {
    const Q: i8 = 127;
    const GROUP: usize = 128;
    const UNIT: usize = 64;

    #[inline(always)]
    fn unpack(bytes: &[u8], out: &mut [i8; 64]) {
        for (out, &byte) in out.iter_mut().zip(bytes) {
            *out = byte as i8;
        }
    }

    #[inline(always)]
    fn pack(codes: &[i8; 64], bytes: &mut [u8]) {
        for (byte, &code) in bytes.iter_mut().zip(codes) {
            *byte = code as u8;
        }
    }
}
