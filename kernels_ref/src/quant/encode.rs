//! Rows of f32 to stored codes and scales: to nearest by the absmax, or by a clipping search.
//!
//! code = clamp(round_ties_even(x / f32(scale)), -Q, Q) by true division. Loops run over arrays of
//! fixed lengths, so that the compiler has lanes to fill; no sum depends on how many.

use super::grouped::{with, Codes, Form, Wrong, COLUMNS};
use super::scales::Encoding;
use crate::error::{Code, Error, Result};

/// Adding and subtracting 1.5 * 2^23 rounds what is below 2^22 to an integer, ties to even.
const MAGIC: f32 = 12582912.0;
/// The bits of infinity, which those of every finite magnitude are below.
const INFINITE: u32 = 0x7f80_0000;
/// Columns of the widest group.
const WIDEST: usize = 128;

/// How rows are packed.
#[derive(Clone, Copy)]
pub struct Packing<'a> {
    /// The format of the codes.
    pub form: Form,
    /// That of the scales.
    pub encoding: Encoding,
    /// Fractions of the absmax that a search tries, in this order; none: the absmax itself.
    pub fractions: &'a [f32],
}

impl Packing<'_> {
    /// Pack rows of `cols` values into their planes; errors name the row and the group.
    #[inline(always)]
    pub fn pack_rows(
        &self,
        x: &[f32],
        cols: usize,
        codes: &mut [u8],
        scales: &mut [u8],
    ) -> Result<()> {
        with!(self.form, C => self.pack_by::<C>(x, cols, codes, scales))
    }

    #[inline(always)]
    fn pack_by<C: Codes>(
        &self,
        x: &[f32],
        cols: usize,
        codes: &mut [u8],
        scales: &mut [u8],
    ) -> Result<()> {
        let codes = codes.chunks_exact_mut(self.form.stride(cols));
        let scales = scales.chunks_exact_mut(self.form.groups(cols) * self.encoding.size());
        for (r, ((row, codes), scales)) in x.chunks_exact(cols).zip(codes).zip(scales).enumerate() {
            self.pack_row::<C>(row, codes, scales).map_err(|(code, g, detail)| {
                Error::new(code, format!("row {} group {}", r, g), detail)
            })?;
        }
        Ok(())
    }

    #[inline(always)]
    fn pack_row<C: Codes>(
        &self,
        row: &[f32],
        codes: &mut [u8],
        scales: &mut [u8],
    ) -> std::result::Result<(), Wrong> {
        let stored = codes.chunks_mut(C::GROUP / COLUMNS * C::UNIT);
        let words = scales.chunks_exact_mut(self.encoding.size());
        let mut padded = [0.0; WIDEST];
        for (g, ((given, stored), place)) in row.chunks(C::GROUP).zip(stored).zip(words).enumerate()
        {
            let mut group = given;
            if given.len() < C::GROUP {
                padded[..given.len()].copy_from_slice(given);
                group = &padded[..C::GROUP];
            }
            let word = self.word(group, C::Q.into()).map_err(|(code, detail)| (code, g, detail))?;
            place.copy_from_slice(&word.to_le_bytes()[..self.encoding.size()]);
            let quantizer = Quantizer::new(self.encoding, word, C::Q.into());
            for (unit, bytes) in group.chunks_exact(COLUMNS).zip(stored.chunks_exact_mut(C::UNIT)) {
                C::pack(&quantizer.codes(unit), bytes);
            }
        }
        Ok(())
    }

    /// The scale's word of a group, which zeros fill up.
    #[inline(always)]
    fn word(&self, group: &[f32], q: f32) -> std::result::Result<u16, (Code, String)> {
        let absmax = absmax(group).ok_or_else(|| (Code::Argument, "is not finite".into()))?;
        let choose = |absmax: f32| {
            self.encoding.choose(absmax, q).ok_or_else(|| {
                (Code::Scale, format!("no {:?} holds the scale {}", self.encoding, absmax / q))
            })
        };
        let (first, rest) = match self.fractions.split_first() {
            None => return choose(absmax),
            Some((&first, rest)) => (choose(absmax * first)?, rest),
        };
        let error = |word: u16| Quantizer::new(self.encoding, word, q).error(group);
        let (mut best, mut least, mut last) = (first, error(first), first);
        for &fraction in rest {
            let word = choose(absmax * fraction)?;
            // The same word again has the same error, and ties go to the earlier fraction.
            if word != last {
                let found = error(word);
                if found < least {
                    best = word;
                    least = found;
                }
            }
            last = word;
        }
        Ok(best)
    }
}

/// The largest magnitude, None where a value is not finite.
#[inline(always)]
pub(super) fn absmax(values: &[f32]) -> Option<f32> {
    const LANES: usize = 16;
    let mut largest = [0i32; LANES];
    let (whole, rest) = values.split_at(values.len() / LANES * LANES);
    for values in whole.chunks_exact(LANES) {
        for (largest, value) in largest.iter_mut().zip(values) {
            let magnitude = (value.to_bits() & 0x7fff_ffff) as i32;
            *largest = if magnitude > *largest { magnitude } else { *largest };
        }
    }
    // Magnitudes are ordered as their bits are.
    let tail = rest.iter().map(|value| (value.to_bits() & 0x7fff_ffff) as i32);
    let largest = largest.iter().copied().chain(tail).max().unwrap_or(0) as u32;
    Some(f32::from_bits(largest)).filter(|_| largest < INFINITE)
}

/// A chosen scale.
#[derive(Clone, Copy)]
pub(super) struct Quantizer {
    divisor: f32,
    /// 0 where the scale is 0, so that every code is.
    q: f32,
}

impl Quantizer {
    /// The quantizer of a scale's word.
    pub(super) fn new(encoding: Encoding, word: u16, q: f32) -> Quantizer {
        match word {
            0 => Quantizer { divisor: 1.0, q: 0.0 },
            _ => Quantizer { divisor: encoding.value(word), q },
        }
    }

    /// The code of a value, plus `MAGIC`.
    #[inline(always)]
    fn shifted(self, value: f32) -> f32 {
        let quotient = value / self.divisor;
        let quotient = if quotient < -self.q { -self.q } else { quotient };
        let quotient = if quotient > self.q { self.q } else { quotient };
        quotient + MAGIC
    }

    /// The code of a value.
    #[inline(always)]
    pub(super) fn code(self, value: f32) -> i8 {
        // The lowest byte of MAGIC's bits is 0.
        self.shifted(value).to_bits() as i8
    }

    #[inline(always)]
    fn codes(self, unit: &[f32]) -> [i8; COLUMNS] {
        let mut codes = [0; COLUMNS];
        for (code, &value) in codes.iter_mut().zip(unit) {
            *code = self.code(value);
        }
        codes
    }

    /// (x - code * scale)^2, the difference in f32, the square in f64.
    #[inline(always)]
    fn squared(self, value: f32) -> f64 {
        let near = (self.shifted(value) - MAGIC) * self.divisor;
        let apart = f64::from(value - near);
        apart * apart
    }

    /// The sum of the squared errors of 64 or 128 values: column c is added to column c + half, and
    /// so on with the sums.
    #[inline(always)]
    fn error(self, group: &[f32]) -> f64 {
        const HALF: usize = COLUMNS / 2;
        let mut sums = [0.0; HALF];
        if let (true, Some(second)) = (group.len() == WIDEST, group.get(COLUMNS..)) {
            for (c, sum) in sums.iter_mut().enumerate() {
                let low = self.squared(group[c]) + self.squared(second[c]);
                let high = self.squared(group[c + HALF]) + self.squared(second[c + HALF]);
                *sum = low + high;
            }
        } else {
            for (c, sum) in sums.iter_mut().enumerate() {
                *sum = self.squared(group[c]) + self.squared(group[c + HALF]);
            }
        }
        let mut half = HALF;
        while half > 1 {
            half /= 2;
            for c in 0..half {
                sums[c] += sums[c + half];
            }
        }
        sums[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(form: Form, fractions: &[f32], row: &[f32]) -> (Vec<u8>, Vec<u8>) {
        let encoding = Encoding::Fp16;
        let mut codes = vec![0xaa; form.stride(row.len())];
        let mut scales = vec![0xaa; 2 * form.groups(row.len())];
        let rules = Packing { form, encoding, fractions };
        rules.pack_rows(row, row.len(), &mut codes, &mut scales).unwrap();
        (codes, scales)
    }

    #[test]
    fn a_row_is_quantized_by_the_rules() {
        let row = [127.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5];
        let (codes, scales) = packed(Form::Q8, &[], &row);
        assert_eq!((&codes[..7], codes.len()), (&[127, 0, 2, 2, 0, 254, 254][..], 64));
        assert_eq!((&codes[7..], scales), (&[0; 57][..], vec![0, 0x3c]));
        for (row, code) in [([f32::NAN], Code::Argument), ([1e9], Code::Scale)] {
            let rules = Packing { form: Form::Q4, encoding: Encoding::Fp16, fractions: &[] };
            let found = rules.pack_rows(&row, 1, &mut [0; 32], &mut [0; 2]).unwrap_err();
            assert_eq!((found.code, found.place.as_str()), (code, "row 0 group 0"));
        }
    }

    #[test]
    fn a_search_clips_an_outlier_and_keeps_the_earlier_of_two_equals() {
        let mut row = [1.0; 64];
        row[5] = 8.0;
        // With 8 / 7 a one is off by a seventh; with 1 it is exact, and only the outlier is off.
        let (_, scales) = packed(Form::Q4, &[1.0, 0.875, 0.5], &row);
        assert_eq!(scales, [0, 0x3c]);
        let (_, scales) = packed(Form::Q4, &[1.0, 0.5], &[0.0; 64]);
        assert_eq!(scales, [0, 0]);
        // 7 is a code of the scale 1, and one of the scale 7.
        assert_eq!(packed(Form::Q4, &[1.0, 7.0], &[7.0; 64]).1, [0, 0x3c]);
        assert_eq!(packed(Form::Q4, &[7.0, 1.0], &[7.0; 64]).1, [0, 0x47]);
    }

    #[test]
    fn magnitudes_and_what_is_none() {
        let mut values = vec![0.0; 131];
        values[130] = -3.0;
        values[7] = 2.0;
        assert_eq!(absmax(&values), Some(3.0));
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for at in [0, 17, 130] {
                let mut values = values.clone();
                values[at] = bad;
                assert_eq!(absmax(&values), None);
            }
        }
        assert_eq!(absmax(&[]), Some(0.0));
    }
}
