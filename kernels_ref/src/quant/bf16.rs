//! bfloat16, the upper half of an f32.

/// The value of these 16 bits.
#[inline]
pub fn to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The nearest bfloat16 of a finite value, ties to even.
#[inline]
pub fn from_f32(value: f32) -> u16 {
    let bits = value.to_bits();
    (bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn midpoints_go_to_even() {
        for bits in (0..0x7f7fu16).step_by(7) {
            assert_eq!(from_f32(to_f32(bits)), bits);
            let middle = f32::from_bits(to_f32(bits).to_bits() | 0x8000);
            assert_eq!(from_f32(middle), bits + (bits & 1));
            assert_eq!(from_f32(f32::from_bits(middle.to_bits() + 1)), bits + 1);
            assert_eq!(from_f32(-middle), (bits + (bits & 1)) | 0x8000);
        }
    }
}
