//! Sparse residuals: a header of 40 bytes, then row pointers, columns and values.

use super::descriptor::{inside, Descriptor, Sizes};
use super::{numbers as n, Container};
use crate::bytes::{u16_at, u32_at, u64_at, Span};
use crate::error::{ensure, Code, Error, Result};
use crate::quant::grouped::Form;
use crate::quant::sparse::Sparse;

/// Bytes of the header.
const HEADER: u64 = 40;
/// What a residual's name has behind that of its base.
const SUFFIX: &str = ".residual";

fn wrong(code: Code, place: &str, detail: String) -> Error {
    Error::new(code, place, detail)
}

/// Rows, columns, entries, and whether the values are codes.
struct Extent {
    rows: u64,
    cols: u64,
    nnz: u64,
    coded: bool,
}

/// Check the descriptor alone and the header at its payload's start.
pub fn check(container: &Container<'_>, tensor: &Descriptor) -> Result<()> {
    let scales = match tensor.dtype {
        n::DTYPE_F16 => n::SCALE_NONE,
        n::DTYPE_Q8_R128 => n::SCALE_FP16,
        other => {
            return Err(wrong(Code::Tensor, "dtype", format!("{} for residual values", other)))
        }
    };
    ensure(tensor.scale_encoding == scales, || {
        wrong(Code::Tensor, "scale_encoding", format!("{}", tensor.scale_encoding))
    })?;
    let extent = extent(container, tensor)?;
    let overflow = || wrong(Code::Length, "nnz", "the payload overflows 64 bits".into());
    let payload = Sparse::payload_len(extent.rows, extent.cols, extent.nnz, extent.coded)
        .ok_or_else(overflow)?;
    let sizes = Sizes {
        row_stride: 0,
        data_len: payload.checked_add(HEADER).ok_or_else(overflow)?,
        aux_len: if extent.coded { 2 * extent.rows } else { 0 },
    };
    tensor.check_payload(&container.header, &sizes)
}

/// Read the header, and check that its fields are those of the descriptor.
fn extent(container: &Container<'_>, tensor: &Descriptor) -> Result<Extent> {
    ensure(tensor.data_len >= HEADER, || {
        wrong(Code::Length, "data_len", format!("{} cannot hold a residual", tensor.data_len))
    })?;
    let data = inside(tensor.data_off, tensor.data_len, "data_off", container.header.body)?;
    let raw = Span { start: data.start, len: HEADER }.of(container.bytes, "residual")?;
    let (rows, cols) = tensor
        .matrix_shape()
        .ok_or_else(|| wrong(Code::Length, "dims", "their product overflows".into()))?;
    let same = |name: &str, got: u64, expected: u64| {
        ensure(got == expected, || {
            wrong(Code::Tensor, name, format!("{}, expected {}", got, expected))
        })
    };
    same("format", u16_at(raw, 0).into(), 1)?;
    same("value_dtype", u16_at(raw, 2).into(), tensor.dtype.into())?;
    same("rows", u32_at(raw, 4).into(), rows)?;
    same("cols", u32_at(raw, 8).into(), cols)?;
    // Both are below 2^32 now, as is nnz: no sum or product below overflows.
    let nnz = u64::from(u32_at(raw, 12));
    let column = if cols <= 65536 { 2 } else { 4 };
    let row_ptr = HEADER + 4 * (rows + 1);
    same("row_ptr_off", u64_at(raw, 16), HEADER)?;
    same("col_idx_off", u64_at(raw, 24), row_ptr)?;
    same("values_off", u64_at(raw, 32), row_ptr + nnz * column)?;
    ensure(nnz > 0, || wrong(Code::Tensor, "nnz", "0, a residual has entries".into()))?;
    Ok(Extent { rows, cols, nnz, coded: tensor.dtype == n::DTYPE_Q8_R128 })
}

/// A residual has the dimensions and role of a dense, grouped tensor, and is named after it.
pub fn check_base(container: &Container<'_>, tensor: &Descriptor) -> Result<()> {
    let bad = |detail: &str| wrong(Code::Alias, "alias_of", detail.into());
    ensure(tensor.alias_of < container.len(), || bad("names no tensor"))?;
    let base = container.descriptor(tensor.alias_of)?;
    let dense = base.layout == n::LAYOUT_DENSE && Form::from_number(base.dtype).is_some();
    ensure(dense, || bad("names no dense tensor of codes"))?;
    let facts = |d: &Descriptor| (d.rank, d.dims, d.role);
    ensure(facts(&base) == facts(tensor), || bad("dimensions or role differ from the base's"))?;
    let name = container.name(tensor)?;
    ensure(name.strip_suffix(SUFFIX) == Some(container.name(&base)?), || {
        bad("the name is not that of the base with .residual behind it")
    })
}

impl<'a> Container<'a> {
    /// The entries of a residual that `check` accepted.
    pub fn sparse(&self, tensor: &Descriptor) -> Result<Sparse<'a>> {
        let Extent { rows, cols, nnz, coded } = extent(self, tensor)?;
        let [data, scales] = tensor.planes()?;
        let payload = Span { start: data.start + HEADER, len: data.len - HEADER };
        let shape = [rows as usize, cols as usize, nnz as usize];
        let scales = scales.of(self.bytes, "scales")?;
        Ok(Sparse::over(payload.of(self.bytes, "residual")?, scales, shape, coded))
    }
}
