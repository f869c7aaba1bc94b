//! Stored matrices and how their rows become f32.

pub mod f16;
pub mod q8_r128;
pub mod slm1;

use crate::ops::matmul::Rows;
pub use q8_r128::Q8;

/// A matrix whose rows can be decoded to f32, in place in the file or in working memory.
#[derive(Clone, Copy)]
pub enum Matrix<'a> {
    /// f32 in the file's bytes, which may stand at any address.
    F32(F32Bytes<'a>),
    /// Codes and fp16 scales.
    Q8(Q8<'a>),
    /// One of SLM1's forms.
    Slm1(slm1::Stored<'a>),
    /// f32 in working memory.
    View(Rows<'a>),
}

/// Little-endian f32 values, row after row.
#[derive(Clone, Copy)]
pub struct F32Bytes<'a> {
    /// The bytes: rows * cols * 4.
    pub bytes: &'a [u8],
    /// Columns.
    pub cols: usize,
}

impl Matrix<'_> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Matrix::F32(m) => m.bytes.len() / (4 * m.cols),
            Matrix::Q8(m) => m.codes.len() / m.stride,
            Matrix::Slm1(m) => m.rows(),
            Matrix::View(m) => m.rows,
        }
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        match self {
            Matrix::F32(m) => m.cols,
            Matrix::Q8(m) => m.cols,
            Matrix::Slm1(m) => m.cols,
            Matrix::View(m) => m.cols,
        }
    }

    /// Write row `r` as f32 into `out`, which has as many elements as a row.
    pub fn decode_row(&self, r: usize, out: &mut [f32]) {
        match self {
            Matrix::F32(m) => {
                let row = &m.bytes[r * m.cols * 4..(r + 1) * m.cols * 4];
                for (out, raw) in out.iter_mut().zip(row.chunks_exact(4)) {
                    *out = f32::from_le_bytes([raw[0], raw[1], raw[2], raw[3]]);
                }
            }
            Matrix::Q8(m) => m.decode_row(r, out),
            Matrix::Slm1(m) => m.decode_row(r, out),
            Matrix::View(m) => out.copy_from_slice(m.row(r)),
        }
    }
}
