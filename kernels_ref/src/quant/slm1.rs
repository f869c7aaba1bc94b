//! The storage forms of SLM1: f32, q8_0 and q4_0; `w = f32(code) * scale`, rounded once.

use crate::bytes::u32_at;
use crate::error::{ensure, Code, Error, Result};

/// How a tensor is stored.
#[derive(Clone, Copy)]
pub enum Form {
    /// The weights themselves.
    F32,
    /// One i8 a column, one f32 scale a row.
    Q8,
    /// A nibble a column, the even one low; one f32 scale a block.
    Q4 {
        /// Columns of a block: even, and a divisor of the columns.
        block: usize,
    },
}

/// A tensor in the file's bytes.
#[derive(Clone, Copy)]
pub struct Stored<'a> {
    /// The form.
    pub form: Form,
    /// Row after row.
    pub data: &'a [u8],
    /// f32 values, row after row.
    pub scales: &'a [u8],
    /// Columns.
    pub cols: usize,
}

/// Behind it, the lowest code of a byte times the scale is not finite.
const LARGEST: f32 = f32::MAX / 128.0;

fn f32_at(bytes: &[u8], at: usize) -> f32 {
    f32::from_bits(u32_at(bytes, at))
}

impl Stored<'_> {
    fn row_bytes(&self) -> usize {
        match self.form {
            Form::F32 => 4 * self.cols,
            Form::Q8 => self.cols,
            Form::Q4 { .. } => self.cols / 2,
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.data.len() / self.row_bytes()
    }

    /// Write row `r` as f32 into `out`.
    pub fn decode_row(&self, r: usize, out: &mut [f32]) {
        let row = &self.data[r * self.row_bytes()..(r + 1) * self.row_bytes()];
        match self.form {
            Form::F32 => {
                for (out, raw) in out.iter_mut().zip(row.chunks_exact(4)) {
                    *out = f32_at(raw, 0);
                }
            }
            Form::Q8 => {
                let scale = f32_at(self.scales, 4 * r);
                for (out, &code) in out.iter_mut().zip(row) {
                    *out = f32::from(code as i8) * scale;
                }
            }
            Form::Q4 { block } => {
                let first = r * (self.cols / block);
                let blocks = out.chunks_exact_mut(block).zip(row.chunks_exact(block / 2));
                for (i, (out, codes)) in blocks.enumerate() {
                    let scale = f32_at(self.scales, 4 * (first + i));
                    for (pair, &byte) in out.chunks_exact_mut(2).zip(codes) {
                        pair[0] = f32::from((byte << 4) as i8 >> 4) * scale;
                        pair[1] = f32::from(byte as i8 >> 4) * scale;
                    }
                }
            }
        }
    }

    /// Refuse a weight that is not finite, and a scale that is not positive or too large.
    pub fn check(&self) -> Result<()> {
        if let Form::F32 = self.form {
            let bad = |raw: &[u8]| !f32_at(raw, 0).is_finite();
            return match self.data.chunks_exact(4).position(bad) {
                None => Ok(()),
                Some(i) => {
                    let place = format!("row {} column {}", i / self.cols, i % self.cols);
                    Err(Error::new(Code::NonFinite, place, "is NaN or infinite"))
                }
            };
        }
        for (i, raw) in self.scales.chunks_exact(4).enumerate() {
            let scale = f32_at(raw, 0);
            ensure(scale > 0.0 && scale <= LARGEST, || {
                let detail = format!("{:e}, expected above 0 and at most {:e}", scale, LARGEST);
                Error::new(Code::Scale, format!("scale {}", i), detail)
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn little_endian(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn nibbles_are_signed_and_the_even_column_is_low() {
        let scales = little_endian(&[0.5, 2.0]);
        let data = [0x8f, 0x70];
        let stored = Stored { form: Form::Q4 { block: 2 }, data: &data, scales: &scales, cols: 4 };
        let mut row = [0.0; 4];
        stored.decode_row(0, &mut row);
        assert_eq!(row, [-0.5, -4.0, 0.0, 14.0]);
        assert_eq!(stored.rows(), 1);
    }

    #[test]
    fn a_row_of_bytes_has_one_scale() {
        let scales = little_endian(&[1.0, 0.25]);
        let data = [0u8, 0, 0x80, 3];
        let stored = Stored { form: Form::Q8, data: &data, scales: &scales, cols: 2 };
        let mut row = [0.0; 2];
        stored.decode_row(1, &mut row);
        assert_eq!(row, [-32.0, 0.75]);
    }

    #[test]
    fn bad_scales_and_weights_are_named() {
        for bad in [0.0, -0.0, -1.0, f32::NAN, f32::INFINITY, f32::MAX] {
            let scales = little_endian(&[bad]);
            let stored = Stored { form: Form::Q8, data: &[1], scales: &scales, cols: 1 };
            assert_eq!(stored.check().unwrap_err().code, Code::Scale);
        }
        let data = little_endian(&[1.0, f32::NAN]);
        let stored = Stored { form: Form::F32, data: &data, scales: &[], cols: 2 };
        assert_eq!(stored.check().unwrap_err().place, "row 0 column 1");
    }
}
