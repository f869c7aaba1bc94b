//! The low four bits of 64 codes in 32 bytes: byte j holds code j below and code j + 32 above.

/// Write the nibbles, 0 to 15.
#[inline(always)]
pub fn unpack(bytes: &[u8], out: &mut [u8; 64]) {
    let (low, high) = out.split_at_mut(32);
    for ((low, high), &byte) in low.iter_mut().zip(high).zip(bytes) {
        *low = byte & 15;
        *high = byte >> 4;
    }
}

/// Read them from codes.
#[inline(always)]
pub fn pack(codes: &[i8; 64], bytes: &mut [u8]) {
    for (j, byte) in bytes.iter_mut().take(32).enumerate() {
        *byte = codes[j] as u8 & 15 | (codes[j + 32] as u8 & 15) << 4;
    }
}

/// Two's complement of as many bits as `top`, the sign's bit, says.
#[inline(always)]
pub fn signed(values: &[u8; 64], top: u8, out: &mut [i8; 64]) {
    for (out, &value) in out.iter_mut().zip(values) {
        *out = (value ^ top).wrapping_sub(top) as i8;
    }
}
