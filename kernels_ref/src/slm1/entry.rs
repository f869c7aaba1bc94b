//! One entry of the directory: 64 bytes that the header's shape explains.

use super::names::Shape;
use crate::bytes::{all_zero, u32_at, u64_at, Span};
use crate::error::{ensure, Code, Error, Result};
use crate::quant::slm1::{Form, Stored};

/// Bytes of an entry.
pub const SIZE: usize = 64;

/// dtype: float32.
pub const F32: u32 = 1;
/// dtype: i8 codes, one scale a row.
pub const Q8: u32 = 2;
/// dtype: nibbles, one scale a block.
pub const Q4: u32 = 3;

/// A checked entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub name: u64,
    pub dtype: u32,
    pub cols: u32,
    /// 0 of f32.
    pub block: u32,
    pub data: Span,
    /// Empty at 0 where there are none.
    pub scales: Span,
}

fn refuse(
    code: Code,
    name: &str,
    got: impl std::fmt::Display,
    rule: impl std::fmt::Display,
) -> Error {
    Error::new(code, name, format!("{}, expected {}", got, rule))
}

fn same(name: &str, got: u64, expected: u64) -> Result<()> {
    ensure(got == expected, || refuse(Code::Tensor, name, got, expected))
}

impl Entry {
    /// Read and check an entry alone.
    pub fn parse(raw: &[u8], shape: Shape, file_len: u64, data_start: u64) -> Result<Entry> {
        all_zero(&raw[60..64], "reserved", 60)?;
        let dtype = u32_at(raw, 8);
        ensure((F32..=Q4).contains(&dtype), || {
            refuse(Code::UnknownNumber, "dtype", dtype, "1 to 3")
        })?;
        let dims = match shape.rows {
            Some(rows) => [rows, shape.cols, 0, 0],
            None => [shape.cols, 0, 0, 0],
        };
        same("rank", u32_at(raw, 12).into(), if shape.rows.is_some() { 2 } else { 1 })?;
        for (i, &dim) in dims.iter().enumerate() {
            same("dims", u32_at(raw, 16 + 4 * i).into(), dim.into())?;
        }
        let (rows, cols) = (u64::from(shape.rows.unwrap_or(1)), u64::from(shape.cols));
        let block = u32_at(raw, 56);
        check_block(dtype, block, shape.cols)?;
        // Rows and columns stay below 2^24, so no product here overflows.
        let row_bytes = match dtype {
            F32 => 4 * cols,
            Q8 => cols,
            _ => cols / 2,
        };
        same("byte_length", u64_at(raw, 40), rows * row_bytes)?;
        let blocks = if block == 0 { 0 } else { cols / u64::from(block) };
        if blocks == 0 {
            same("scale_offset", u64_at(raw, 48), 0)?;
        }
        let data = Span::new("byte_offset", u64_at(raw, 32), rows * row_bytes)?;
        inside(data, "byte_offset", file_len, data_start)?;
        let scales = Span::new("scale_offset", u64_at(raw, 48), 4 * rows * blocks)?;
        if blocks > 0 {
            inside(scales, "scale_offset", file_len, data_start)?;
        }
        Ok(Entry { name: u64_at(raw, 0), dtype, cols: shape.cols, block, data, scales })
    }

    /// The tensor over the file's bytes.
    pub fn stored<'a>(&self, bytes: &'a [u8]) -> Result<Stored<'a>> {
        let form = match self.dtype {
            F32 => Form::F32,
            Q8 => Form::Q8,
            _ => Form::Q4 { block: self.block as usize },
        };
        Ok(Stored {
            form,
            data: self.data.of(bytes, "data")?,
            scales: self.scales.of(bytes, "scales")?,
            cols: self.cols as usize,
        })
    }
}

fn check_block(dtype: u32, block: u32, cols: u32) -> Result<()> {
    match dtype {
        F32 => same("block_size", block.into(), 0),
        Q8 => same("block_size", block.into(), cols.into()),
        _ => ensure(block != 0 && block % 2 == 0 && cols % block == 0, || {
            refuse(Code::Tensor, "block_size", block, format!("an even divisor of {}", cols))
        }),
    }
}

fn inside(span: Span, name: &str, file_len: u64, data_start: u64) -> Result<()> {
    ensure(span.start >= data_start && span.end() <= file_len, || {
        let got = format!("{}..{}", span.start, span.end());
        refuse(Code::Range, name, got, format!("{}..{}", data_start, file_len))
    })?;
    span.aligned(name, 64)
}
