//! Inverse frequencies of a base: twin of `trlm_lab/slm1/frequencies.py`, the same bits.

use crate::bytes::reserve;
use crate::error::Result;
use crate::ops::elementary::{exp_f64, LN2_HI, LN2_LO};

/// The square root of 2.
const SQRT_2: f64 = std::f64::consts::SQRT_2;

/// ln of a normal number: 2 atanh(s) of its fraction, and the exponent's share.
fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i32 - 1023;
    let mut m = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if m > SQRT_2 {
        m *= 0.5;
        exponent += 1;
    }
    let s = (m - 1.0) / (m + 1.0);
    let square = s * s;
    let mut total = 1.0 / 25.0;
    for n in (0..12).rev() {
        total = total * square + 1.0 / f64::from(2 * n + 1);
    }
    let fraction = 2.0 * s * total;
    let exponent = f64::from(exponent);
    exponent * LN2_HI + (fraction + exponent * LN2_LO)
}

/// theta^(-2i/E) for i below E/2.
pub fn inverse(theta: f32, head_dim: usize) -> Result<Vec<f32>> {
    let (log, width) = (ln(f64::from(theta)), head_dim as f64);
    let mut values = Vec::new();
    reserve(&mut values, head_dim / 2)?;
    values.extend((0..head_dim / 2).map(|i| exp_f64(-((2.0 * i as f64 * log) / width)) as f32));
    Ok(values)
}
