//! A sparse residual in CSR form: f16 values, or i8 codes with one fp16 scale a row.

use super::f16;
use crate::bytes::{u16_at, u32_at};
use crate::error::{ensure, Code, Error, Result};
use crate::ops::matmul::Rows;

/// Columns up to which a column number is a u16.
const NARROW: usize = 1 << 16;

/// Nothing, or the rule that is broken and what breaks it.
type Found = std::result::Result<(), (Code, String)>;

/// The arrays of a residual, in the file.
#[derive(Clone, Copy)]
pub struct Sparse<'a> {
    rows: usize,
    cols: usize,
    row_ptr: &'a [u8],
    columns: &'a [u8],
    values: &'a [u8],
    scales: &'a [u8],
    coded: bool,
}

impl<'a> Sparse<'a> {
    /// Bytes of the payload, None where they overflow.
    pub fn payload_len(rows: u64, cols: u64, nnz: u64, coded: bool) -> Option<u64> {
        let column = if cols <= NARROW as u64 { 2 } else { 4 };
        let entry = column + if coded { 1 } else { 2 };
        rows.checked_add(1)?.checked_mul(4)?.checked_add(nnz.checked_mul(entry)?)
    }

    /// The arrays of a payload of the length that `payload_len` says; `coded`: the values are codes
    /// and `scales` has their scales.
    pub fn over(
        payload: &'a [u8],
        scales: &'a [u8],
        [rows, cols, nnz]: [usize; 3],
        coded: bool,
    ) -> Sparse<'a> {
        let (row_ptr, rest) = payload.split_at(4 * (rows + 1));
        let (columns, values) = rest.split_at(nnz * if cols <= NARROW { 2 } else { 4 });
        Sparse { rows, cols, row_ptr, columns, values, scales, coded }
    }

    fn pointer(&self, r: usize) -> usize {
        u32_at(self.row_ptr, 4 * r) as usize
    }

    fn column(&self, i: usize) -> usize {
        match self.cols <= NARROW {
            true => u16_at(self.columns, 2 * i).into(),
            false => u32_at(self.columns, 4 * i) as usize,
        }
    }

    /// Call `each` with column and value of every entry of row `r`.
    fn entries(&self, r: usize, mut each: impl FnMut(usize, f32)) {
        let scale = if self.coded { f16::to_f32(u16_at(self.scales, 2 * r)) } else { 1.0 };
        for i in self.pointer(r)..self.pointer(r + 1) {
            let value = match self.coded {
                true => f32::from(self.values[i] as i8) * scale,
                false => f16::to_f32(u16_at(self.values, 2 * i)),
            };
            each(self.column(i), value);
        }
    }

    /// Add row `r` to a decoded row.
    pub fn add_row(&self, r: usize, out: &mut [f32]) {
        let mut at = 0;
        self.entries(r, |column, value| {
            // As everywhere a zero is added, so that -0.0 becomes +0.0.
            out[at..column].iter_mut().for_each(|out| *out += 0.0);
            out[column] += value;
            at = column + 1;
        });
        out[at..].iter_mut().for_each(|out| *out += 0.0);
    }

    /// Add the product of every row with every token: one accumulator an output, from +0.0 over
    /// ascending columns, added once.
    pub fn add_product(&self, x: Rows<'_>, y: &mut [f32], y_stride: usize) {
        for r in 0..self.rows {
            for t in 0..x.rows {
                let (token, mut sum) = (x.row(t), 0.0f32);
                self.entries(r, |column, value| sum += token[column] * value);
                y[t * y_stride + r] += sum;
            }
        }
    }

    /// Check pointers, columns, values and scales; `place` names the tensor.
    pub fn check(&self, place: &str) -> Result<()> {
        let wrong = |what: String| Error::new(Code::Index, place, what);
        let nnz = self.values.len() / if self.coded { 1 } else { 2 };
        ensure(self.pointer(0) == 0 && self.pointer(self.rows) == nnz, || {
            wrong(format!("row pointers do not go from 0 to {}", nnz))
        })?;
        for r in 0..self.rows {
            let (first, last) = (self.pointer(r), self.pointer(r + 1));
            ensure(first <= last && last <= nnz, || wrong(format!("row pointer {} descends", r)))?;
            for i in first..last {
                let above = i == first || self.column(i - 1) < self.column(i);
                ensure(above && self.column(i) < self.cols, || {
                    wrong(format!("row {} entry {}: column {}", r, i, self.column(i)))
                })?;
            }
        }
        for scales in [false, true] {
            for r in 0..self.rows {
                let (first, last) = (self.pointer(r), self.pointer(r + 1));
                let found = if scales {
                    self.check_scale(r, first, last)
                } else {
                    self.check_values(first, last)
                };
                found.map_err(|(code, detail)| {
                    Error::new(code, format!("{} row {}", place, r), detail)
                })?;
            }
        }
        Ok(())
    }

    fn check_values(&self, first: usize, last: usize) -> Found {
        if !self.coded {
            let finite = |i: usize| u16_at(self.values, 2 * i) & 0x7c00 != 0x7c00;
            return match (first..last).all(finite) {
                true => Ok(()),
                false => Err((Code::NonFinite, "a value is not finite".into())),
            };
        }
        match self.values[first..last].contains(&0x80) {
            true => Err((Code::QuantCode, "the code -128".into())),
            false => Ok(()),
        }
    }

    fn check_scale(&self, r: usize, first: usize, last: usize) -> Found {
        if !self.coded {
            return Ok(());
        }
        let (codes, word) = (&self.values[first..last], u16_at(self.scales, 2 * r));
        let normal = (0x0400..0x7c00).contains(&word);
        if normal || (word == 0 && codes.iter().all(|&code| code == 0)) {
            return Ok(());
        }
        Err((Code::Scale, format!("scale bits {:04x}", word)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(pointers: [u32; 3], columns: [u16; 3], values: [u16; 3]) -> Vec<u8> {
        let mut bytes: Vec<u8> = pointers.iter().flat_map(|p| p.to_le_bytes()).collect();
        bytes.extend(columns.iter().chain(&values).flat_map(|w| w.to_le_bytes()));
        bytes
    }

    #[test]
    fn a_product_has_an_accumulator_of_its_own() {
        let bytes = payload([0, 2, 3], [0, 2, 1], [0x3c00, 0xc000, 0x3800]);
        let sparse = Sparse::over(&bytes, &[], [2, 3, 3], false);
        sparse.check("w").unwrap();
        let x = [1.0, 2.0, 4.0];
        let mut y = [100.0, -0.0];
        sparse.add_product(Rows::dense(&x, 3), &mut y, 2);
        assert_eq!(y, [100.0 + (1.0 - 8.0), 1.0]);
        let mut row = [-0.0; 3];
        sparse.add_row(0, &mut row);
        assert_eq!(row.map(f32::to_bits), [1.0f32, 0.0, -2.0].map(f32::to_bits));
    }

    #[test]
    fn what_no_writer_stores() {
        let check = |pointers, columns, values| {
            let bytes = payload(pointers, columns, values);
            Sparse::over(&bytes, &[], [2, 3, 3], false).check("w").map_err(|error| error.code)
        };
        let ones = [0x3c00; 3];
        assert_eq!(check([0, 2, 3], [0, 2, 1], ones), Ok(()));
        for pointers in [[1, 2, 3], [0, 2, 2], [0, 4, 3], [0, u32::MAX, 3]] {
            assert_eq!(check(pointers, [0, 2, 1], ones), Err(Code::Index));
        }
        for columns in [[2, 0, 1], [0, 0, 1], [0, 3, 1]] {
            assert_eq!(check([0, 2, 3], columns, ones), Err(Code::Index));
        }
        assert_eq!(check([0, 2, 3], [0, 2, 1], [0x3c00, 0x7c00, 0]), Err(Code::NonFinite));
    }
}
