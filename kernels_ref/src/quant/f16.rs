//! IEEE binary16 to f32, exactly.

/// The value of these 16 bits; subnormals, infinities and NaN included.
#[inline]
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

/// The nearest binary16, ties to even; NaN has one spelling.
#[inline]
pub fn from_f32(value: f32) -> u16 {
    let sign = (value.to_bits() >> 16 & 0x8000) as u16;
    let magnitude = value.to_bits() & 0x7fff_ffff;
    sign | match magnitude {
        0x7f80_0001.. => 0x7e00,
        0x4780_0000.. => 0x7c00,
        // Added to 0.5, the value is rounded to units of 2^-24, those of a subnormal half.
        0..=0x387f_ffff => ((f32::from_bits(magnitude) + 0.5).to_bits() - 0.5f32.to_bits()) as u16,
        _ => ((magnitude + 0x0fff + (magnitude >> 13 & 1) - 0x3800_0000) >> 13) as u16,
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
    fn every_half_survives_and_midpoints_go_to_even() {
        for bits in 0..=0x7c00u16 {
            assert_eq!(from_f32(to_f32(bits)), bits);
            assert_eq!(from_f32(-to_f32(bits)), bits | 0x8000);
        }
        for bits in 0..0x7bffu16 {
            let middle = (to_f32(bits) + to_f32(bits + 1)) / 2.0;
            assert_eq!(from_f32(middle), bits + (bits & 1), "{:04x}", bits);
            assert_eq!(from_f32(f32::from_bits(middle.to_bits() - 1)), bits, "{:04x}", bits);
            assert_eq!(from_f32(f32::from_bits(middle.to_bits() + 1)), bits + 1, "{:04x}", bits);
        }
        assert_eq!((from_f32(65519.996), from_f32(65520.0)), (0x7bff, 0x7c00));
        assert_eq!(from_f32(f32::NAN), 0x7e00);
    }

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
