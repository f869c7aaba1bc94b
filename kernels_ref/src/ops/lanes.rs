//! Products in sixteen lanes: rows x tokens at once, in the widest registers that are there.
//!
//! Rows are padded with zeros to whole lanes: a lane starts at +0.0 and can never become -0.0, so
//! adding the product of two zeros changes no bit. The widths differ in speed alone: every lane is
//! the same chain of rounded products and rounded additions.

use super::matmul::Rows;
use super::order::{merge, LANES};
use super::widths::Width;
use crate::bytes::reserve;
use crate::error::Result;
use crate::quant::Matrix;

/// Weight rows that are decoded at a time.
const ROWS: usize = 4;

/// Buffers of a product; kept, so that running allocates nothing.
#[derive(Default)]
pub struct Padded {
    x: Vec<f32>,
    w: Vec<f32>,
}

impl Padded {
    /// Make room for inputs of `tokens` rows and `cols` columns.
    pub fn fit(&mut self, tokens: usize, cols: usize) -> Result<()> {
        let width = padded(cols);
        reserve(&mut self.x, tokens.saturating_mul(width))?;
        reserve(&mut self.w, width.saturating_mul(ROWS))
    }
}

/// Columns in whole lanes.
fn padded(cols: usize) -> usize {
    cols.saturating_add(LANES - 1) / LANES * LANES
}

/// `y[t][r] = sum over c of x[t][c] * w[r][c]`; row t of `y` begins at `t * y_stride`.
pub fn product(x: Rows<'_>, w: &Matrix<'_>, y: &mut [f32], y_stride: usize, buffers: &mut Padded) {
    let width = padded(x.cols);
    let kernel = Width::best();
    buffers.x.clear();
    buffers.x.resize(x.rows * width, 0.0);
    for (t, row) in buffers.x.chunks_exact_mut(width).enumerate() {
        row[..x.cols].copy_from_slice(x.row(t));
    }
    buffers.w.clear();
    buffers.w.resize(ROWS * width, 0.0);
    for first in (0..w.rows()).step_by(ROWS) {
        let held = ROWS.min(w.rows() - first);
        for (r, row) in buffers.w.chunks_exact_mut(width).take(held).enumerate() {
            w.decode_row(first + r, &mut row[..x.cols]);
        }
        let y = Place { y: &mut *y, stride: y_stride, first };
        kernel.multiply(&buffers.x, &buffers.w[..held * width], width, y);
    }
}

/// Where the sums of some rows go.
pub struct Place<'y> {
    /// All sums.
    pub y: &'y mut [f32],
    /// Distance of two tokens.
    pub stride: usize,
    /// The first of the rows.
    pub first: usize,
}

/// T tokens against R rows at a time, what is left over one by one.
#[inline(always)]
pub fn all_tokens<const T: usize, const R: usize>(
    x: &[f32],
    w: &[f32],
    width: usize,
    y: Place<'_>,
) {
    let Place { y, stride, first } = y;
    let (tokens, rows) = (x.len() / width, w.len() / width);
    let (whole_tokens, whole_rows) = (tokens / T * T, rows / R * R);
    for t in (0..whole_tokens).step_by(T) {
        for r in (0..whole_rows).step_by(R) {
            let sums = tile::<T, R>(&x[t * width..], &w[r * width..], width);
            for (i, sums) in sums.iter().enumerate() {
                let start = (t + i) * stride + first + r;
                y[start..start + R].copy_from_slice(sums);
            }
        }
    }
    for t in 0..tokens {
        for r in if t < whole_tokens { whole_rows } else { 0 }..rows {
            y[t * stride + first + r] = tile::<1, 1>(&x[t * width..], &w[r * width..], width)[0][0];
        }
    }
}

/// T x R sums, each of sixteen lanes.
#[inline(always)]
fn tile<const T: usize, const R: usize>(x: &[f32], w: &[f32], width: usize) -> [[f32; R]; T] {
    let mut lanes = [[[0.0f32; LANES]; R]; T];
    let (x, w) = (&x[..T * width], &w[..R * width]);
    for at in (0..width).step_by(LANES) {
        for t in 0..T {
            let x = &x[t * width + at..][..LANES];
            for r in 0..R {
                let w = &w[r * width + at..][..LANES];
                for l in 0..LANES {
                    lanes[t][r][l] += x[l] * w[l];
                }
            }
        }
    }
    lanes.map(|rows| rows.map(merge))
}
