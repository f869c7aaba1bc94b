//! Gated activation: `silu(gate) * up`, with `silu(x) = x / (1 + exp(-x))`.

use super::elementary::exp;

/// Elementwise over slices of one length.
pub fn swiglu(gate: &[f32], up: &[f32], y: &mut [f32]) {
    for ((y, &g), &u) in y.iter_mut().zip(gate).zip(up) {
        *y = g / (1.0 + exp(-g)) * u;
    }
}
