//! Gated activation: `silu(gate) * up`, with `silu(x) = x / (1 + exp(-x))`.

use super::activation::activate;
use super::elementary::exp;

/// `x / (1 + exp(-x))`.
#[inline(always)]
pub fn silu(x: f32) -> f32 {
    x / (1.0 + exp(-x))
}

/// Elementwise over slices of one length.
pub fn swiglu(gate: &[f32], up: &[f32], y: &mut [f32]) {
    activate(silu, Some(gate), up, y);
}
