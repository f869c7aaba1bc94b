//! The grouped formats as operators: over unpadded codes with fp16 scales, and over stored planes.

use super::rows::zeros;
use super::{answer, Array, Kind};
use crate::bytes::reserve;
use crate::error::{ensure, Code, Error, Result};
use crate::ops::matmul::{matmul, Rows, Scratch};
use crate::ops::order::Order;
use crate::quant::grouped::{pack_codes, quantize_row, Form, Grouped, COLUMNS};
use crate::quant::scales::Encoding;
use crate::quant::Matrix;

const FP16: Encoding = Encoding::Fp16;

/// Codes, padded, and scale words of every row.
fn quantized(x: &Array, form: Form, encoding: Encoding) -> Result<(Vec<i8>, Vec<u16>)> {
    let [rows, cols] = x.axes::<2>("x")?;
    let values = x.f32s(&[rows, cols], "x")?;
    let (mut codes, mut words) = (Vec::new(), Vec::new());
    reserve(&mut codes, rows.saturating_mul(cols.saturating_add(COLUMNS)))?;
    reserve(&mut words, rows * form.groups(cols))?;
    for (r, row) in values.chunks_exact(cols).enumerate() {
        quantize_row(form, encoding, row, &format!("x row {}", r), &mut codes, &mut words)?;
    }
    Ok((codes, words))
}

/// x (R, C) to codes (R, C) and scales (R, groups).
fn quantize(form: Form, inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    let [rows, cols] = inputs[0].axes::<2>("x")?;
    outputs[0].expect(Kind::I8, &[rows, cols], "codes")?;
    outputs[1].expect(Kind::F16, &[rows, form.groups(cols)], "scale")?;
    let (codes, words) = quantized(&inputs[0], form, FP16)?;
    let stored = outputs[0].bytes.chunks_exact_mut(cols);
    for (out, codes) in stored.zip(codes.chunks_exact(codes.len() / rows)) {
        for (out, &code) in out.iter_mut().zip(codes) {
            *out = code as u8;
        }
    }
    outputs[1].store(&words, u16::to_le_bytes);
    Ok(())
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
    matrix.check("codes")?;
    let mut values = zeros(matrix.rows() * matrix.cols)?;
    for (r, row) in values.chunks_exact_mut(matrix.cols).enumerate() {
        matrix.decode_row(r, row);
    }
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
    let narrow = |i: usize| u16::try_from(numbers[i]).unwrap_or(0);
    match (Form::from_number(narrow(0)), Encoding::from_number(narrow(1))) {
        (Some(form), Some(encoding)) => Ok((form, encoding)),
        _ => {
            let detail = format!("dtype {} and scale encoding {}", numbers[0], numbers[1]);
            Err(Error::new(Code::Argument, "format", detail))
        }
    }
}

/// x (R, C) and format (2) to stored planes: codes u8 (R, stride), scales u8 (R, bytes).
pub fn pack_rows(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    let (form, encoding) = named(&inputs[1])?;
    let [rows, cols] = inputs[0].axes::<2>("x")?;
    outputs[0].expect(Kind::U8, &[rows, form.stride(cols)], "codes")?;
    outputs[1].expect(Kind::U8, &[rows, form.groups(cols) * encoding.size()], "scales")?;
    let (codes, words) = quantized(&inputs[0], form, encoding)?;
    let (mut stored, mut scales) = (Vec::new(), Vec::new());
    reserve(&mut stored, outputs[0].bytes.len())?;
    pack_codes(form, &codes, &mut stored);
    reserve(&mut scales, outputs[1].bytes.len())?;
    words.iter().for_each(|&word| encoding.store(word, &mut scales));
    outputs[0].bytes.copy_from_slice(&stored);
    outputs[1].bytes.copy_from_slice(&scales);
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
