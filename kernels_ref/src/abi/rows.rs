//! Rows of a storage form, in place: packed from f32, and decoded to it.

use super::errors::status;
use super::{lanes, slice, slice_mut};
use crate::error::{ensure, Code, Error, Result};
use crate::quant::encode::Packing;
use crate::quant::grouped::{numbered, Form, Grouped};
use crate::quant::scales::Encoding;

/// A row and how it is stored.
struct Row {
    cols: usize,
    form: Form,
    encoding: Encoding,
}

impl Row {
    /// A row of a matrix whose values memory can hold.
    fn of(rows: usize, cols: usize, dtype: u32, encoding: u32) -> Result<Row> {
        let (form, encoding) = numbered(dtype, encoding)?;
        // Planes are smaller than twice the values.
        let fits = rows.checked_mul(cols).map_or(false, |n| n > 0 && n <= isize::MAX as usize / 8);
        ensure(fits, || Error::new(Code::Argument, "shape", format!("{} x {}", rows, cols)))?;
        Ok(Row { cols, form, encoding })
    }

    fn code_row(&self) -> usize {
        self.form.stride(self.cols)
    }

    fn scale_row(&self) -> usize {
        self.form.groups(self.cols) * self.encoding.size()
    }
}

/// Pack rows of f32 into planes; with a clipping search where there are fractions.
///
/// # Safety
/// `x` covers rows * cols values, `grid` as many as `fractions` says, `codes` and `scales` the
/// planes as they are stored; none overlaps another. See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_rows_pack(
    x: *const f32,
    rows: usize,
    cols: usize,
    dtype: u32,
    encoding: u32,
    grid: *const f32,
    fractions: usize,
    codes: *mut u8,
    scales: *mut u8,
) -> i32 {
    let packed = || -> Result<()> {
        let stored = Row::of(rows, cols, dtype, encoding)?;
        let fractions = if fractions == 0 { &[] } else { slice(grid, fractions, "grid")? };
        let packing = Packing { form: stored.form, encoding: stored.encoding, fractions };
        let x = slice(x, rows * cols, "x")?;
        let codes = slice_mut(codes, rows * stored.code_row(), "codes")?;
        let scales = slice_mut(scales, rows * stored.scale_row(), "scales")?;
        lanes::pack(&packing, x, cols, codes, scales)
    };
    status(packed().map(|()| 0))
}

/// Decode stored planes to f32, checked as in an artifact.
///
/// # Safety
/// `codes` and `scales` cover the planes as they are stored, `y` rows * cols values; none overlaps
/// another. See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_rows_unpack(
    codes: *const u8,
    scales: *const u8,
    rows: usize,
    cols: usize,
    dtype: u32,
    encoding: u32,
    y: *mut f32,
) -> i32 {
    let decoded = || -> Result<()> {
        let stored = Row::of(rows, cols, dtype, encoding)?;
        let matrix = Grouped {
            form: stored.form,
            encoding: stored.encoding,
            codes: slice(codes, rows * stored.code_row(), "codes")?,
            scales: slice(scales, rows * stored.scale_row(), "scales")?,
            cols,
            residual: None,
        };
        lanes::decode(&matrix, slice_mut(y, rows * cols, "y")?)
    };
    status(decoded().map(|()| 0))
}
