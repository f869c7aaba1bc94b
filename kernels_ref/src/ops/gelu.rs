//! GELU in its two forms: twins of `trlm_lab/ops/gelu_tanh.py` and `gelu_erf.py`.

use super::elementary::{tanh, ErfSeries};

/// f32(sqrt(2/pi)).
const SQRT_2_OVER_PI: f32 = 0.797_884_6;
const CUBIC: f32 = 0.044715;
/// f32(sqrt(1/2)).
const SQRT_HALF: f32 = std::f32::consts::FRAC_1_SQRT_2;

/// `(0.5*x) * (1 + tanh(c * (x + 0.044715*((x*x)*x))))`.
pub fn gelu_tanh(x: f32) -> f32 {
    let inner = SQRT_2_OVER_PI * (x + CUBIC * ((x * x) * x));
    (0.5 * x) * (1.0 + tanh(inner))
}

/// `(0.5*x) * (1 + erf(x * f32(sqrt(1/2))))`.
pub fn gelu_erf(x: f32, series: &ErfSeries) -> f32 {
    (0.5 * x) * (1.0 + series.erf(x * SQRT_HALF))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_out_both_are_the_identity_or_zero() {
        let series = ErfSeries::new();
        for function in [gelu_tanh as fn(f32) -> f32, |x| gelu_erf(x, &ErfSeries::new())] {
            assert_eq!((function(200.0), function(-200.0), function(0.0)), (200.0, 0.0, 0.0));
        }
        assert!((gelu_tanh(1.0) - gelu_erf(1.0, &series)).abs() > 1e-5);
        assert_eq!(SQRT_2_OVER_PI.to_bits(), 0x3f4c_422a);
    }
}
