//! IEEE binary16 to f32, exactly.

/// The value of these 16 bits; subnormals, infinities and NaN included.
pub fn to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let exponent = u32::from(bits >> 10) & 31;
    let mantissa = u32::from(bits & 0x3ff);
    match exponent {
        0 => {
            // An integer below 2^10 over 2^24: exact.
            let magnitude = mantissa as f32 / 16777216.0;
            f32::from_bits(sign | magnitude.to_bits())
        }
        31 => f32::from_bits(sign | 0x7f80_0000 | mantissa << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | mantissa << 13),
    }
}

/// Whether a finite value has a binary16 that equals it.
pub fn holds(value: f32) -> bool {
    if value.abs() >= 1.0 / 16384.0 {
        value.abs() <= 65504.0 && value.to_bits() & 0x1fff == 0
    } else {
        let units = value * 16777216.0;
        units as i32 as f32 == units
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finite_half_is_held_and_neighbours_are_not() {
        for bits in 0..0x7c00u16 {
            let value = to_f32(bits);
            assert!(holds(value) && holds(-value), "{:04x}", bits);
            if value != 0.0 {
                assert!(!holds(f32::from_bits(value.to_bits() + 1)), "{:04x}", bits);
            }
        }
        assert_eq!(to_f32(0x3c00), 1.0);
        assert_eq!(to_f32(0xc000), -2.0);
        assert!(!holds(65536.0));
    }
}
