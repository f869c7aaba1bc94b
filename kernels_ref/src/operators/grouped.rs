//! The block format `q8_r128` as two operators over unpadded planes.

use super::rows::zeros;
use super::{answer, Array, Kind};
use crate::bytes::reserve;
use crate::error::Result;
use crate::quant::q8_r128::{self, GROUP, PADDING, Q8};

/// Number of scales of a row.
fn groups(cols: usize) -> usize {
    (cols + GROUP - 1) / GROUP
}

/// x (R, C) to codes (R, C) and scales (R, ceil(C / 128)).
pub fn quantize(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    let [rows, cols] = inputs[0].axes::<2>("x")?;
    let x = inputs[0].f32s(&[rows, cols], "x")?;
    outputs[0].expect(Kind::I8, &[rows, cols], "codes")?;
    outputs[1].expect(Kind::F16, &[rows, groups(cols)], "scale")?;
    let (mut codes, mut scales) = (Vec::new(), Vec::new());
    reserve(&mut codes, x.len())?;
    reserve(&mut scales, rows * groups(cols))?;
    for (r, row) in x.chunks_exact(cols).enumerate() {
        q8_r128::quantize_row(row, &format!("x row {}", r), &mut codes, &mut scales)?;
    }
    outputs[0].store(&codes, i8::to_le_bytes);
    outputs[1].store(&scales, u16::to_le_bytes);
    Ok(())
}

/// codes (R, C) and scales (R, ceil(C / 128)) to y (R, C).
pub fn dequantize(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    let [rows, cols] = inputs[0].axes::<2>("codes")?;
    inputs[0].expect(Kind::I8, &[rows, cols], "codes")?;
    inputs[1].expect(Kind::F16, &[rows, groups(cols)], "scale")?;
    let stride = (cols + PADDING - 1) / PADDING * PADDING;
    let (mut codes, mut y) = (Vec::new(), zeros(rows * cols)?);
    reserve(&mut codes, rows.saturating_mul(stride))?;
    for row in inputs[0].bytes.chunks_exact(cols) {
        codes.extend_from_slice(row);
        codes.resize((codes.len() + PADDING - 1) / PADDING * PADDING, 0);
    }
    let stored = Q8 { codes: &codes, scales: &inputs[1].bytes, cols, stride };
    stored.check("codes")?;
    for (r, y) in y.chunks_exact_mut(cols).enumerate() {
        stored.decode_row(r, y);
    }
    answer(&mut outputs[0], &[rows, cols], y)
}
