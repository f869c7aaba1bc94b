//! The grouped formats as operators: over unpadded codes with fp16 scales, and over stored planes.

use super::rows::zeros;
use super::{answer, Array, Kind};
use crate::bytes::reserve;
use crate::error::{ensure, Code, Error, Result};
use crate::ops::matmul::{matmul, Rows, Scratch};
use crate::ops::order::Order;
use crate::quant::encode::Packing;
use crate::quant::grouped::{numbered, pack_codes, Form, Grouped, COLUMNS};
use crate::quant::scales::Encoding;
use crate::quant::Matrix;

const FP16: Encoding = Encoding::Fp16;

/// Pack the rows of x into stored planes of the right sizes.
fn pack(
    x: &Array,
    form: Form,
    encoding: Encoding,
    codes: &mut [u8],
    scales: &mut [u8],
) -> Result<()> {
    let [rows, cols] = x.axes::<2>("x")?;
    let values = x.f32s(&[rows, cols], "x")?;
    let packing = Packing { form, encoding, fractions: &[] };
    packing
        .pack_rows(&values, cols, codes, scales)
        .map_err(|error| Error::new(error.code, format!("x {}", error.place), error.detail))
}

/// x (R, C) to codes (R, C) and scales (R, groups).
fn quantize(form: Form, inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    let [rows, cols] = inputs[0].axes::<2>("x")?;
    outputs[0].expect(Kind::I8, &[rows, cols], "codes")?;
    outputs[1].expect(Kind::F16, &[rows, form.groups(cols)], "scale")?;
    let mut stored = room(rows.saturating_mul(form.stride(cols)))?;
    let mut scales = room(outputs[1].bytes.len())?;
    pack(&inputs[0], form, FP16, &mut stored, &mut scales)?;
    let mut codes = Vec::new();
    reserve(&mut codes, cols)?;
    codes.resize(cols, 0);
    let answers = outputs[0].bytes.chunks_exact_mut(cols);
    for (answer, stored) in answers.zip(stored.chunks_exact(form.stride(cols))) {
        form.unpack_row(stored, &mut codes);
        for (answer, &code) in answer.iter_mut().zip(&codes) {
            *answer = code as u8;
        }
    }
    outputs[1].bytes.copy_from_slice(&scales);
    Ok(())
}

/// Zeroed bytes.
fn room(len: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reserve(&mut bytes, len)?;
    bytes.resize(len, 0);
    Ok(bytes)
}

/// codes (R, C) and scales (R, groups) to y (R, C).
fn dequantize(form: Form, inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    let [rows, cols] = inputs[0].axes::<2>("codes")?;
    inputs[0].expect(Kind::I8, &[rows, cols], "codes")?;
    inputs[1].expect(Kind::F16, &[rows, form.groups(cols)], "scale")?;
    let (mut codes, mut stored) = (Vec::new(), Vec::new());
    reserve(&mut codes, cols.saturating_add(COLUMNS))?;
    reserve(&mut stored, rows.saturating_mul(form.stride(cols)))?;
    for row in inputs[0].bytes.chunks_exact(cols) {
        codes.clear();
        codes.extend(row.iter().map(|&byte| byte as i8));
        codes.resize((cols + COLUMNS - 1) / COLUMNS * COLUMNS, 0);
        pack_codes(form, &codes, &mut stored);
    }
    let scales = &inputs[1].bytes;
    let matrix = Grouped { form, encoding: FP16, codes: &stored, scales, cols, residual: None };
    // A code beyond the width would be cut by packing.
    ensure(inputs[0].bytes.iter().all(|&byte| form.holds(byte as i8)), || {
        Error::new(Code::QuantCode, "codes", "a code is beyond the format's")
    })?;
    decoded(&matrix, &mut outputs[0])
}

/// Check planes and write all rows.
fn decoded(matrix: &Grouped<'_>, y: &mut Array) -> Result<()> {
    let mut values = zeros(matrix.rows() * matrix.cols)?;
    matrix.decode_checked("codes", &mut values)?;
    answer(y, &[matrix.rows(), matrix.cols], values)
}

macro_rules! by_format {
    ($($form:ident: $quantize:ident, $dequantize:ident;)*) => {$(
        /// x (R, C) to codes (R, C) and fp16 scales (R, groups).
        pub fn $quantize(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
            quantize(Form::$form, inputs, outputs)
        }

        /// codes (R, C) and fp16 scales (R, groups) to y (R, C).
        pub fn $dequantize(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
            dequantize(Form::$form, inputs, outputs)
        }
    )*};
}

by_format! {
    Q8: quantize_q8, dequantize_q8;
    Q6: quantize_q6, dequantize_q6;
    Q5: quantize_q5, dequantize_q5;
    Q4: quantize_q4, dequantize_q4;
}

/// The format and the encoding that an operand (2) of u32 names, as the container's numbers.
fn named(operand: &Array) -> Result<(Form, Encoding)> {
    let numbers = operand.u32s(&[2], "format")?;
    numbered(numbers[0], numbers[1])
}

/// x (R, C) and format (2) to stored planes: codes u8 (R, stride), scales u8 (R, bytes).
pub fn pack_rows(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    let (form, encoding) = named(&inputs[1])?;
    let [rows, cols] = inputs[0].axes::<2>("x")?;
    outputs[0].expect(Kind::U8, &[rows, form.stride(cols)], "codes")?;
    outputs[1].expect(Kind::U8, &[rows, form.groups(cols) * encoding.size()], "scales")?;
    // The answers stay as they are where a row is refused.
    let mut codes = room(outputs[0].bytes.len())?;
    let mut scales = room(outputs[1].bytes.len())?;
    pack(&inputs[0], form, encoding, &mut codes, &mut scales)?;
    outputs[0].bytes = codes;
    outputs[1].bytes = scales;
    Ok(())
}

/// Stored planes of `cols` columns, checked for their sizes.
fn planes<'a>(
    codes: &'a Array,
    scales: &'a Array,
    format: &Array,
    cols: usize,
) -> Result<Grouped<'a>> {
    let (form, encoding) = named(format)?;
    let [rows, _] = codes.axes::<2>("codes")?;
    codes.expect(Kind::U8, &[rows, form.stride(cols)], "codes")?;
    scales.expect(Kind::U8, &[rows, form.groups(cols) * encoding.size()], "scales")?;
    let (codes, scales) = (&codes.bytes[..], &scales.bytes[..]);
    Ok(Grouped { form, encoding, codes, scales, cols, residual: None })
}

/// Stored planes and format (2) to y (R, C); the answer's shape says how many columns there are.
pub fn unpack_rows(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    let [_, cols] = outputs[0].axes::<2>("y")?;
    decoded(&planes(&inputs[0], &inputs[1], &inputs[2], cols)?, &mut outputs[0])
}

/// x (T, I), stored planes of (O, I) and format (2) to y (T, O).
pub fn matmul_rows(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    let [tokens, inner] = inputs[0].axes::<2>("x")?;
    let x = inputs[0].f32s(&[tokens, inner], "x")?;
    let stored = planes(&inputs[1], &inputs[2], &inputs[3], inner)?;
    stored.check("codes")?;
    let outer = stored.rows();
    outputs[0].expect(Kind::F32, &[tokens, outer], "y")?;
    let (mut y, mut scratch) = (zeros(tokens * outer)?, Scratch::default());
    scratch.fit(Order::Ascending, tokens, inner)?;
    matmul(
        Order::Ascending,
        Rows::dense(&x, inner),
        &Matrix::Grouped(stored),
        &mut y,
        outer,
        &mut scratch,
    );
    answer(&mut outputs[0], &[tokens, outer], y)
}
