//! Scales of grouped formats: fp16, bf16 or powers of two, a word a group.

use super::{bf16, f16};
use crate::bytes::u16_at;

/// How a scale is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// 1: IEEE binary16.
    Fp16,
    /// 2: bfloat16.
    Bf16,
    /// 3: the byte b is 2^(b - 127); b = 0 is a group of zeros.
    E8m0,
}

impl Encoding {
    /// The encoding of a number of the format's table.
    pub fn from_number(number: u16) -> Option<Encoding> {
        match number {
            1 => Some(Encoding::Fp16),
            2 => Some(Encoding::Bf16),
            3 => Some(Encoding::E8m0),
            _ => None,
        }
    }

    /// Bytes of a scale.
    pub fn size(self) -> usize {
        match self {
            Encoding::Fp16 | Encoding::Bf16 => 2,
            Encoding::E8m0 => 1,
        }
    }

    /// Word `i` of stored scales.
    #[inline]
    pub fn word(self, scales: &[u8], i: usize) -> u16 {
        match self {
            Encoding::E8m0 => scales[i].into(),
            _ => u16_at(scales, 2 * i),
        }
    }

    /// The value of a word, exactly.
    #[inline]
    pub fn value(self, word: u16) -> f32 {
        match self {
            Encoding::Fp16 => f16::to_f32(word),
            Encoding::Bf16 => bf16::to_f32(word),
            Encoding::E8m0 => f32::from_bits(u32::from(word) << 23),
        }
    }

    /// Append a word as it is stored.
    pub fn store(self, word: u16, scales: &mut Vec<u8>) {
        scales.extend_from_slice(&word.to_le_bytes()[..self.size()]);
    }

    /// Whether a word is 0 or a scale that a writer stores: positive, normal, and times `q` finite.
    #[inline]
    pub fn is_stored(self, word: u16, q: f32) -> bool {
        word == 0
            || match self {
                // 127 times the largest is finite.
                Encoding::Fp16 => (0x0400..0x7c00).contains(&word),
                Encoding::Bf16 => (0x0080..0x7f80).contains(&word) && self.reaches(word, q),
                Encoding::E8m0 => (1..255).contains(&word) && self.reaches(word, q),
            }
    }

    #[inline]
    fn reaches(self, word: u16, q: f32) -> bool {
        (self.value(word) * q).is_finite()
    }

    /// The word of absmax / q, or None where the encoding does not hold it.
    ///
    /// fp16 and bf16 round to nearest, ties to even, and raise to the smallest normal number; a
    /// power of two is rounded up, and is 2^-126 at least. 0 stays 0.
    pub fn choose(self, absmax: f32, q: f32) -> Option<u16> {
        if absmax == 0.0 {
            return Some(0);
        }
        let word = match self {
            Encoding::Fp16 => f16::from_f32(absmax / q).max(0x0400),
            Encoding::Bf16 => bf16::from_f32(absmax / q).max(0x0080),
            Encoding::E8m0 => power_above(absmax, q),
        };
        Some(word).filter(|&word| self.is_stored(word, q))
    }
}

/// The least byte b from 1 up with q * 2^(b - 127) at or above `absmax`; 255 is none.
fn power_above(absmax: f32, q: f32) -> u16 {
    // In f64 every product is exact.
    let reaches = |b: u16| f64::from(q) * f64::from(f32::from_bits(u32::from(b) << 23));
    // q is below 2^7, so b lies within 8 of the exponent of absmax.
    let exponent = (absmax.to_bits() >> 23) as u16;
    let first = exponent.saturating_sub(8).max(1);
    (first..255).find(|&b| reaches(b) >= f64::from(absmax)).unwrap_or(255)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_chosen_by_the_rules() {
        use Encoding::*;
        assert_eq!(Fp16.choose(7.0, 7.0), Some(0x3c00));
        assert_eq!(Bf16.choose(7.0, 7.0), Some(0x3f80));
        assert_eq!(E8m0.choose(7.0, 7.0), Some(127));
        assert_eq!(E8m0.choose(7.5, 7.0), Some(128));
        assert_eq!(E8m0.choose(6.9, 7.0), Some(127));
        assert_eq!(E8m0.choose(3.5, 7.0), Some(126));
        for encoding in [Fp16, Bf16, E8m0] {
            assert_eq!(encoding.choose(0.0, 7.0), Some(0));
            let tiny = encoding.choose(1e-45, 7.0).unwrap();
            assert!(encoding.value(tiny) >= 2f32.powi(-126), "{:?}", encoding);
        }
        assert_eq!(Fp16.choose(1e9, 7.0), None);
        assert_eq!(E8m0.choose(f32::MAX, 7.0), None);
        // 2^128 less one unit, over 15, is rounded up to a bf16 whose product is infinite.
        assert_eq!(Bf16.choose(f32::MAX, 15.0), None);
        assert!(Bf16.choose(f32::MAX, 7.0).is_some());
    }

    #[test]
    fn words_that_no_writer_stores() {
        use Encoding::*;
        for (encoding, words) in [
            (Fp16, vec![0x8000, 0xbc00, 1, 0x3ff, 0x7c00, 0x7e00]),
            (Bf16, vec![0x8000, 0xbf80, 1, 0x7f, 0x7f80, 0x7fc0, 0x7f7f]),
            (E8m0, vec![255, 254, 253]),
        ] {
            for word in words {
                assert!(!encoding.is_stored(word, 7.0), "{:?} {:04x}", encoding, word);
            }
        }
        assert!(E8m0.is_stored(252, 7.0) && Fp16.is_stored(0x400, 7.0) && Bf16.is_stored(0, 7.0));
    }
}
