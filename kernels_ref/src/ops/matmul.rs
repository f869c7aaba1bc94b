//! `y = x W^T` in an order of additions.
//!
//! The plain form is one sum an output. The fast forms (`ascending`, `lanes`) compute the same sums
//! side by side and have the bits of the plain form.

use super::ascending::{self, Tiles};
use super::lanes::{self, Padded};
use super::order::Order;
use crate::error::Result;
use crate::quant::Matrix;

/// Rows of f32 values, `stride` apart: a matrix or one head's part of it.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// The values, from the first row's first column on.
    pub data: &'a [f32],
    /// Number of rows.
    pub rows: usize,
    /// Columns that count.
    pub cols: usize,
    /// Distance of two rows.
    pub stride: usize,
}

impl<'a> Rows<'a> {
    /// A dense matrix.
    pub fn dense(data: &'a [f32], cols: usize) -> Rows<'a> {
        Rows { data, rows: data.len() / cols.max(1), cols, stride: cols }
    }

    /// Row `r`.
    #[inline]
    pub fn row(&self, r: usize) -> &'a [f32] {
        let start = r * self.stride;
        &self.data[start..start + self.cols]
    }
}

/// Buffers that a multiplication needs; kept, so that running allocates nothing.
#[derive(Default)]
pub struct Scratch {
    tiles: Tiles,
    padded: Padded,
}

impl Scratch {
    /// Make room for inputs of `tokens` rows and `cols` columns.
    pub fn fit(&mut self, order: Order, tokens: usize, cols: usize) -> Result<()> {
        match order {
            Order::Ascending => self.tiles.fit(tokens, cols),
            Order::Lanes => self.padded.fit(tokens, cols),
        }
    }
}

/// `y[t][r] = sum over c of x[t][c] * w[r][c]`; row t of `y` begins at `t * y_stride`. A sparse
/// residual is a sum of its own, added once.
pub fn matmul(
    order: Order,
    x: Rows<'_>,
    w: &Matrix<'_>,
    y: &mut [f32],
    y_stride: usize,
    scratch: &mut Scratch,
) {
    match order {
        Order::Ascending => ascending::product(x, w, y, y_stride, &mut scratch.tiles),
        Order::Lanes => lanes::product(x, w, y, y_stride, &mut scratch.padded),
    }
    if let Some(sparse) = w.residual() {
        sparse.add_product(x, y, y_stride);
    }
}

/// The plain form: the definition that the fast forms are tested against.
pub fn matmul_plain(order: Order, x: Rows<'_>, w: &Matrix<'_>, y: &mut [f32]) {
    let mut row = vec![0.0f32; x.cols];
    for r in 0..w.rows() {
        w.decode_row(r, &mut row);
        for t in 0..x.rows {
            y[t * w.rows() + r] = order.sum(x.row(t).iter().zip(&row).map(|(&x, &w)| x * w));
        }
    }
    if let Some(sparse) = w.residual() {
        sparse.add_product(x, y, w.rows());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(n: usize, seed: u32) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            (state >> 8) as f32 / 16777216.0 - 0.5
        };
        (0..n).map(|_| next()).collect()
    }

    #[test]
    fn fast_and_plain_give_the_same_bits() {
        let mut scratch = Scratch::default();
        for &order in &[Order::Ascending, Order::Lanes] {
            for &(tokens, rows, cols) in
                &[(1, 1, 1), (1, 17, 33), (3, 8, 5), (4, 9, 64), (13, 23, 96), (7, 5, 31)]
            {
                let (x, w) = (noise(tokens * cols, 1), noise(rows * cols, 2));
                let x = Rows::dense(&x, cols);
                let w = Matrix::View(Rows::dense(&w, cols));
                let (mut fast, mut plain) = (vec![0.0; tokens * rows], vec![0.0; tokens * rows]);
                scratch.fit(order, tokens, cols).unwrap();
                matmul(order, x, &w, &mut fast, rows, &mut scratch);
                matmul_plain(order, x, &w, &mut plain);
                let bits = |v: &[f32]| v.iter().map(|f| f.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&fast), bits(&plain), "{} x {} x {}", tokens, rows, cols);
            }
        }
    }
}
