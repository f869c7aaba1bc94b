//! `q8_r128`: i8 codes with one fp16 scale a group of 128 columns; `w = f32(code) * f32(scale)`.

use super::f16;
use crate::bytes::u16_at;
use crate::error::{ensure, Code, Error, Result};

/// Columns that share a scale.
pub const GROUP: usize = 128;

/// Columns to which a stored row is padded with zero codes.
pub const PADDING: usize = 64;

/// Code plane and scale plane of a matrix.
#[derive(Clone, Copy)]
pub struct Q8<'a> {
    /// rows * stride bytes.
    pub codes: &'a [u8],
    /// rows * groups little-endian fp16 values.
    pub scales: &'a [u8],
    /// Columns that count.
    pub cols: usize,
    /// Bytes of a stored row.
    pub stride: usize,
}

impl Q8<'_> {
    fn groups(&self) -> usize {
        (self.cols + GROUP - 1) / GROUP
    }

    /// Decode row `r`; each weight is rounded once.
    pub fn decode_row(&self, r: usize, out: &mut [f32]) {
        let codes = &self.codes[r * self.stride..r * self.stride + self.cols];
        let bytes = 2 * self.groups();
        let scales = self.scales[r * bytes..(r + 1) * bytes].chunks_exact(2);
        for ((out, codes), scale) in out.chunks_mut(GROUP).zip(codes.chunks(GROUP)).zip(scales) {
            let scale = f16::to_f32(u16_at(scale, 0));
            for (out, &code) in out.iter_mut().zip(codes) {
                *out = f32::from(code as i8) * scale;
            }
        }
    }

    /// Check every code, padding code and scale; `place` names the tensor.
    pub fn check(&self, place: &str) -> Result<()> {
        let scales = self.scales.chunks_exact(2 * self.groups());
        for (r, (codes, scales)) in self.codes.chunks_exact(self.stride).zip(scales).enumerate() {
            let (codes, padding) = codes.split_at(self.cols);
            ensure(padding.iter().all(|&code| code == 0), || {
                Error::new(
                    Code::QuantCode,
                    format!("{} row {}", place, r),
                    "a padding code is not 0",
                )
            })?;
            for (g, (codes, scale)) in codes.chunks(GROUP).zip(scales.chunks_exact(2)).enumerate() {
                check_group(codes, u16_at(scale, 0)).map_err(|(code, detail)| {
                    Error::new(code, format!("{} row {} group {}", place, r, g), detail)
                })?;
            }
        }
        Ok(())
    }
}

/// Largest code.
const Q: f32 = 127.0;
/// The smallest normal binary16; a smaller scale over a nonzero group is raised to it.
const SMALLEST_NORMAL: u16 = 0x0400;

/// Append the codes and scales of one row; `place` names it.
///
/// scale = f16(absmax / 127), code = clamp(round_ties_even(x / f32(scale)), -127, 127).
pub fn quantize_row(
    row: &[f32],
    place: &str,
    codes: &mut Vec<i8>,
    scales: &mut Vec<u16>,
) -> Result<()> {
    for (g, group) in row.chunks(GROUP).enumerate() {
        let mut absmax = 0.0f32;
        for &value in group {
            ensure(value.is_finite(), || Error::new(Code::Argument, place, "is not finite"))?;
            absmax = absmax.max(value.abs());
        }
        let mut scale = f16::from_f32(absmax / Q);
        ensure(scale < 0x7c00, || {
            let detail = format!("the scale {} is above 65504", absmax / Q);
            Error::new(Code::Scale, format!("{} group {}", place, g), detail)
        })?;
        if absmax > 0.0 && scale < SMALLEST_NORMAL {
            scale = SMALLEST_NORMAL;
        }
        let divisor = if scale == 0 { 1.0 } else { f16::to_f32(scale) };
        codes.extend(group.iter().map(|&value| code_of(value / divisor)));
        scales.push(scale);
    }
    Ok(())
}

/// The nearest integer, ties to even, clamped to +-127.
fn code_of(quotient: f32) -> i8 {
    // Adding and subtracting 1.5 * 2^23 rounds what is below 2^22; quotients stay below 128.
    const MAGIC: f32 = 12582912.0;
    let rounded = (quotient + MAGIC) - MAGIC;
    rounded.clamp(-Q, Q) as i8
}

fn check_group(codes: &[u8], scale: u16) -> std::result::Result<(), (Code, String)> {
    if codes.contains(&0x80) {
        return Err((Code::QuantCode, "the code -128".into()));
    }
    let normal = (0x0400..0x7c00).contains(&scale);
    if normal || (scale == 0 && codes.iter().all(|&code| code == 0)) {
        return Ok(());
    }
    let why = if scale == 0 { "over a nonzero code" } else { "is no positive normal number" };
    Err((Code::Scale, format!("scale bits {:04x}: {}", scale, why)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_their_own_scale() {
        let mut codes = vec![1u8; 192];
        codes[130] = -3i8 as u8;
        codes[129] = 0;
        codes[131..].fill(0);
        let scales = [0x00, 0x3c, 0x00, 0x38]; // 1.0 and 0.5
        let q8 = Q8 { codes: &codes, scales: &scales, cols: 131, stride: 192 };
        q8.check("w").unwrap();
        let mut row = [0.0; 131];
        q8.decode_row(0, &mut row);
        assert_eq!((row[0], row[127], row[128], row[130]), (1.0, 1.0, 0.5, -1.5));
    }

    #[test]
    fn a_row_is_quantized_by_the_rules() {
        let (mut codes, mut scales) = (Vec::new(), Vec::new());
        let row = [127.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5];
        quantize_row(&row, "x", &mut codes, &mut scales).unwrap();
        assert_eq!((codes, scales), (vec![127, 0, 2, 2, 0, -2, -2], vec![0x3c00]));
        for (row, code) in [([f32::NAN], Code::Argument), ([1e9], Code::Scale)] {
            let error = quantize_row(&row, "x", &mut Vec::new(), &mut Vec::new()).unwrap_err();
            assert_eq!(error.code, code);
        }
    }

    #[test]
    fn bad_codes_and_scales_are_named() {
        let check = |codes: [u8; 64], scale: u16| {
            let scales = scale.to_le_bytes();
            let q8 = Q8 { codes: &codes, scales: &scales, cols: 3, stride: 64 };
            q8.check("w").map_err(|error| error.code)
        };
        let with = |at: usize, code: u8| {
            let mut codes = [0u8; 64];
            codes[at] = code;
            codes
        };
        assert_eq!(check(with(1, 0x80), 0x3c00), Err(Code::QuantCode));
        assert_eq!(check(with(3, 1), 0x3c00), Err(Code::QuantCode));
        assert_eq!(check(with(0, 1), 0), Err(Code::Scale));
        for bad in [0x8000, 0x0001, 0x7c00, 0x7e00, 0xbc00] {
            assert_eq!(check(with(0, 0), bad), Err(Code::Scale), "{:04x}", bad);
        }
        assert_eq!(check(with(0, 0), 0), Ok(()));
    }
}
