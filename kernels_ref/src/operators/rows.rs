//! Operators that act on rows: norm, softmax, projection, rotation.

use super::{answer, Array};
use crate::bytes::reserve;
use crate::error::{ensure, Code, Error, Result};
use crate::ops::attention::{self, Visibility, NO_WINDOW};
use crate::ops::bias;
use crate::ops::layer_norm as centred;
use crate::ops::matmul::{self as product, Rows, Scratch};
use crate::ops::order::Order;
use crate::ops::rms_norm as norm;
use crate::ops::rope::{Angles, RopeOrder};
use crate::quant::Matrix;

/// `count` zeros.
pub fn zeros(count: usize) -> Result<Vec<f32>> {
    let mut values = Vec::new();
    reserve(&mut values, count)?;
    values.resize(count, 0.0);
    Ok(values)
}

/// x (R, D), weight (D), eps ().
pub fn rms_norm(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    let shape = inputs[0].axes::<2>("x")?;
    let (x, weight) = (inputs[0].f32s(&shape, "x")?, inputs[1].f32s(&shape[1..], "weight")?);
    let mut y = zeros(x.len())?;
    norm::rms_norm(Order::Ascending, &x, &weight, inputs[2].number("eps")?, &mut y);
    answer(&mut outputs[0], &shape, y)
}

/// x (R, D), weight (D), bias (D), eps ().
pub fn layer_norm(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    let shape = inputs[0].axes::<2>("x")?;
    let x = inputs[0].f32s(&shape, "x")?;
    let weight = inputs[1].f32s(&shape[1..], "weight")?;
    let bias = inputs[2].f32s(&shape[1..], "bias")?;
    let mut y = zeros(x.len())?;
    centred::layer_norm(Order::Ascending, &x, &weight, &bias, inputs[3].number("eps")?, &mut y);
    answer(&mut outputs[0], &shape, y)
}

/// y (R, O), bias (O).
pub fn add_bias(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    let shape = inputs[0].axes::<2>("y")?;
    let mut y = inputs[0].f32s(&shape, "y")?;
    bias::add_bias(&inputs[1].f32s(&shape[1..], "bias")?, &mut y);
    answer(&mut outputs[0], &shape, y)
}

/// x (T, D), weight (P, D), positions (T): row `positions[t]` is added to each token.
pub fn learned_positions(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    let shape = inputs[0].axes::<2>("x")?;
    let [tokens, width] = shape;
    let [held, _] = inputs[1].axes::<2>("weight")?;
    let mut y = inputs[0].f32s(&shape, "x")?;
    let weight = inputs[1].f32s(&[held, width], "weight")?;
    let positions = inputs[2].u32s(&[tokens], "positions")?;
    for (row, &position) in y.chunks_exact_mut(width).zip(&positions) {
        let at = position as usize;
        ensure(at < held, || {
            Error::new(Code::Argument, "positions", format!("{} of {} rows", position, held))
        })?;
        bias::add_bias(&weight[at * width..(at + 1) * width], row);
    }
    answer(&mut outputs[0], &shape, y)
}

/// Whether rows without a visible key give zeros (u32, 0 or 1); 0 makes them an error.
pub fn zero_rows(flag: &Array) -> Result<bool> {
    match flag.u32s(&[], "zero_rows")?[0] {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(Error::new(Code::Argument, "zero_rows", format!("{}, not 0 or 1", other))),
    }
}

/// Refuse a row without a visible key.
pub fn require_visible(visible: &[bool], keys: usize) -> Result<()> {
    match visible.chunks_exact(keys).position(|row| !row.contains(&true)) {
        None => Ok(()),
        Some(row) => {
            Err(Error::new(Code::NoVisibleKey, format!("mask[{}]", row), "the row sees no key"))
        }
    }
}

/// Softmax of each row of `scores` over its visible keys; a row without one stays zero.
pub fn softmax_rows(scores: &[f32], visible: &[bool], keys: usize, probs: &mut [f32]) {
    let rows = scores.chunks_exact(keys).zip(visible.chunks_exact(keys));
    for ((scores, shown), probs) in rows.zip(probs.chunks_exact_mut(keys)) {
        if shown.contains(&true) {
            attention::softmax(
                Order::Ascending,
                scores,
                probs,
                Visibility { past: keys - 1, shown, window: NO_WINDOW },
                0,
            );
        }
    }
}

/// x (R, S), visible (R, S), zero_rows ().
pub fn softmax(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    let shape = inputs[0].axes::<2>("x")?;
    let (x, visible) = (inputs[0].f32s(&shape, "x")?, inputs[1].mask(&shape, "visible")?);
    if !zero_rows(&inputs[2])? {
        require_visible(&visible, shape[1])?;
    }
    let mut y = zeros(x.len())?;
    softmax_rows(&x, &visible, shape[1], &mut y);
    answer(&mut outputs[0], &shape, y)
}

/// x (T, I), weight (O, I).
pub fn matmul(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    let [tokens, inner] = inputs[0].axes::<2>("x")?;
    let [outer, _] = inputs[1].axes::<2>("weight")?;
    let x = inputs[0].f32s(&[tokens, inner], "x")?;
    let weight = inputs[1].f32s(&[outer, inner], "weight")?;
    outputs[0].expect(super::Kind::F32, &[tokens, outer], "y")?;
    let (mut y, mut scratch) = (zeros(tokens * outer)?, Scratch::default());
    scratch.fit(Order::Ascending, tokens, inner)?;
    let weight = Matrix::View(Rows::dense(&weight, inner));
    product::matmul(Order::Ascending, Rows::dense(&x, inner), &weight, &mut y, outer, &mut scratch);
    answer(&mut outputs[0], &[tokens, outer], y)
}

/// x (T, N, E), positions (T), inv_freq (P), attention_factor ().
pub fn rope(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    rotate(inputs, outputs, RopeOrder::HalfSplit)
}

/// x (T, N, E), positions (T), inv_freq (P), attention_factor ().
pub fn rope_interleaved(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    rotate(inputs, outputs, RopeOrder::Interleaved)
}

fn rotate(inputs: &[Array], outputs: &mut [Array], order: RopeOrder) -> Result<()> {
    let shape = inputs[0].axes::<3>("x")?;
    let [tokens, heads, width] = shape;
    ensure(width % 2 == 0, || Error::new(Code::Argument, "x", "the last axis is odd"))?;
    let [pairs] = inputs[2].axes::<1>("inv_freq")?;
    ensure(pairs <= width / 2, || {
        Error::new(Code::Argument, "inv_freq", format!("{} pairs of {} coordinates", pairs, width))
    })?;
    let x = inputs[0].f32s(&shape, "x")?;
    let positions = inputs[1].u32s(&[tokens], "positions")?;
    let inv_freq = inputs[2].f32s(&[pairs], "inv_freq")?;
    let factor = inputs[3].number("attention_factor")?;
    let mut angles = Angles::default();
    angles.fit(tokens, pairs)?;
    positions.iter().for_each(|&position| angles.push(position, &inv_freq, factor));
    let mut y = zeros(x.len())?;
    angles.rotation(pairs, order).rotate(&x, [heads, width], &mut y);
    answer(&mut outputs[0], &shape, y)
}
