//! Stored matrices and how their rows become f32.

pub mod bf16;
pub mod encode;
pub mod f16;
pub mod grouped;
mod nibbles;
pub mod q4_g64;
pub mod q5_g64;
pub mod q6_g64;
pub mod q8_kv;
pub mod q8_r128;
pub mod scales;
pub mod slm1;
pub mod sparse;

use crate::bytes::u16_at;
use crate::ops::matmul::Rows;
pub use grouped::Grouped;
use sparse::Sparse;

/// A matrix whose rows can be decoded to f32, in place in the file or in working memory.
#[derive(Clone, Copy)]
pub enum Matrix<'a> {
    /// f32 in the file's bytes, which may stand at any address.
    F32(Words<'a>),
    /// IEEE binary16.
    F16(Words<'a>),
    /// bfloat16.
    Bf16(Words<'a>),
    /// Codes and scales.
    Grouped(Grouped<'a>),
    /// One of SLM1's forms.
    Slm1(slm1::Stored<'a>),
    /// f32 in working memory.
    View(Rows<'a>),
}

/// Little-endian numbers, row after row.
#[derive(Clone, Copy)]
pub struct Words<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Columns.
    pub cols: usize,
}

impl<'a> Words<'a> {
    fn rows(&self, size: usize) -> usize {
        self.bytes.len() / (size * self.cols)
    }

    fn row(&self, size: usize, r: usize) -> &'a [u8] {
        &self.bytes[r * self.cols * size..(r + 1) * self.cols * size]
    }
}

impl Matrix<'_> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Matrix::F32(m) => m.rows(4),
            Matrix::F16(m) | Matrix::Bf16(m) => m.rows(2),
            Matrix::Grouped(m) => m.rows(),
            Matrix::Slm1(m) => m.rows(),
            Matrix::View(m) => m.rows,
        }
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        match self {
            Matrix::F32(m) | Matrix::F16(m) | Matrix::Bf16(m) => m.cols,
            Matrix::Grouped(m) => m.cols,
            Matrix::Slm1(m) => m.cols,
            Matrix::View(m) => m.cols,
        }
    }

    /// What is added to a product with the decoded rows.
    pub fn residual(&self) -> Option<&Sparse<'_>> {
        match self {
            Matrix::Grouped(m) => m.residual.as_ref(),
            _ => None,
        }
    }

    /// Write row `r` as f32 into `out`, which has as many elements as a row; without the residual.
    pub fn decode_row(&self, r: usize, out: &mut [f32]) {
        match self {
            Matrix::F32(m) => {
                for (out, raw) in out.iter_mut().zip(m.row(4, r).chunks_exact(4)) {
                    *out = f32::from_le_bytes([raw[0], raw[1], raw[2], raw[3]]);
                }
            }
            Matrix::F16(m) => halves(m.row(2, r), out, f16::to_f32),
            Matrix::Bf16(m) => halves(m.row(2, r), out, bf16::to_f32),
            Matrix::Grouped(m) => m.decode_row(r, out),
            Matrix::Slm1(m) => m.decode_row(r, out),
            Matrix::View(m) => out.copy_from_slice(m.row(r)),
        }
    }

    /// Row `r` with its residual: what a lookup gives.
    pub fn look_up(&self, r: usize, out: &mut [f32]) {
        self.decode_row(r, out);
        if let Some(sparse) = self.residual() {
            sparse.add_row(r, out);
        }
    }
}

fn halves(row: &[u8], out: &mut [f32], value: impl Fn(u16) -> f32) {
    for (out, raw) in out.iter_mut().zip(row.chunks_exact(2)) {
        *out = value(u16_at(raw, 0));
    }
}
