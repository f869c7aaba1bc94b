//! Operators that act on each element of flat arrays.

use super::{answer, Array};
use crate::error::Result;
use crate::ops::activation::activate;
use crate::ops::elementary;
use crate::ops::gelu;
use crate::ops::residual::add;
use crate::ops::swiglu;

fn map(inputs: &[Array], outputs: &mut [Array], function: impl Fn(f32) -> f32) -> Result<()> {
    let shape = inputs[0].axes::<1>("x")?;
    let mut values = inputs[0].f32s(&shape, "x")?;
    values.iter_mut().for_each(|value| *value = function(*value));
    answer(&mut outputs[0], &shape, values)
}

fn join(
    inputs: &[Array],
    outputs: &mut [Array],
    names: [&str; 2],
    function: impl Fn(&[f32], &[f32], &mut [f32]),
) -> Result<()> {
    let shape = inputs[0].axes::<1>(names[0])?;
    let (a, b) = (inputs[0].f32s(&shape, names[0])?, inputs[1].f32s(&shape, names[1])?);
    let mut y = a.clone();
    function(&a, &b, &mut y);
    answer(&mut outputs[0], &shape, y)
}

/// x, cap.
pub fn softcap(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    let cap = inputs[1].number("cap")?;
    map(inputs, outputs, |x| elementary::softcap(x, cap))
}

/// x.
pub fn silu(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    map(inputs, outputs, swiglu::silu)
}

/// x.
pub fn gelu_tanh(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    map(inputs, outputs, gelu::gelu_tanh)
}

/// x.
pub fn gelu_erf(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    let series = elementary::ErfSeries::new();
    map(inputs, outputs, |x| gelu::gelu_erf(x, &series))
}

/// gate, up.
pub fn swiglu(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    join(inputs, outputs, ["gate", "up"], swiglu::swiglu)
}

/// gate, up.
pub fn geglu_tanh(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    join(inputs, outputs, ["gate", "up"], |gate, up, y| {
        activate(gelu::gelu_tanh, Some(gate), up, y)
    })
}

/// gate, up.
pub fn geglu_erf(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    let series = elementary::ErfSeries::new();
    join(inputs, outputs, ["gate", "up"], |gate, up, y| {
        activate(|x| gelu::gelu_erf(x, &series), Some(gate), up, y)
    })
}

/// x, scale.
pub fn embedding_scale(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    let scale = inputs[1].number("scale")?;
    map(inputs, outputs, |x| x * scale)
}

/// old, new.
pub fn residual(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    join(inputs, outputs, ["old", "new"], add)
}

/// x.
pub fn exp(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    map(inputs, outputs, elementary::exp)
}

/// x.
pub fn sin(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    map(inputs, outputs, |x| elementary::sin_cos(x).0)
}

/// x.
pub fn cos(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    map(inputs, outputs, |x| elementary::sin_cos(x).1)
}

/// x.
pub fn tanh(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    map(inputs, outputs, elementary::tanh)
}

/// x.
pub fn erf(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    let series = elementary::ErfSeries::new();
    map(inputs, outputs, |x| series.erf(x))
}
