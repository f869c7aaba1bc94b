//! Pinned elementary functions: twin of `trlm_lab/ops/elementary.py`, same constants, same order.
//!
//! Each widens to f64, reduces the argument, evaluates a Taylor polynomial by Horner's rule and
//! rounds once to f32. Only IEEE add, multiply and bit operations: no libm.

// The constants are pinned as values, whatever the standard library calls them.
#![allow(clippy::approx_constant)]

/// Adding and subtracting 1.5 * 2^52 rounds an f64 below 2^51 to an integer, ties to even.
const ROUND_MAGIC: f64 = 6755399441055744.0;

// The shortest decimals of the float64 values that the Python twin writes in hexadecimal.
const LOG2_E: f64 = 1.4426950408889634;
pub(crate) const LN2_HI: f64 = 0.6931471803691238;
pub(crate) const LN2_LO: f64 = 1.9082149292705877e-10;
const EXP_MIN: f64 = -110.0;
const EXP_MAX: f64 = 90.0;
const TWO_OVER_PI: f64 = 0.6366197723675814;
const HALF_PI: [f64; 3] = [1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21];

/// `sin` and `cos` are pinned below this magnitude; beyond, the result is NaN.
pub const TRIG_LIMIT: f64 = 1048576.0;

/// 1/n! for n = 13 down to 0.
const EXP_COEFFICIENTS: [f64; 14] = [
    1.0 / 6227020800.0,
    1.0 / 479001600.0,
    1.0 / 39916800.0,
    1.0 / 3628800.0,
    1.0 / 362880.0,
    1.0 / 40320.0,
    1.0 / 5040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    1.0 / 2.0,
    1.0,
    1.0,
];

/// (-1)^n/(2n+1)! for n = 8 down to 0.
const SIN_COEFFICIENTS: [f64; 9] = [
    1.0 / 355687428096000.0,
    -1.0 / 1307674368000.0,
    1.0 / 6227020800.0,
    -1.0 / 39916800.0,
    1.0 / 362880.0,
    -1.0 / 5040.0,
    1.0 / 120.0,
    -1.0 / 6.0,
    1.0,
];

/// (-1)^n/(2n)! for n = 8 down to 0.
const COS_COEFFICIENTS: [f64; 9] = [
    1.0 / 20922789888000.0,
    -1.0 / 87178291200.0,
    1.0 / 479001600.0,
    -1.0 / 3628800.0,
    1.0 / 40320.0,
    -1.0 / 720.0,
    1.0 / 24.0,
    -1.0 / 2.0,
    1.0,
];

#[inline(always)]
fn horner<const N: usize>(coefficients: &[f64; N], x: f64) -> f64 {
    let mut total = coefficients[0];
    for &coefficient in &coefficients[1..] {
        total *= x;
        total += coefficient;
    }
    total
}

#[inline(always)]
fn round_to_integer(x: f64) -> f64 {
    (x + ROUND_MAGIC) - ROUND_MAGIC
}

/// An integer in the range of i32 as its two's-complement bits; 0 for NaN.
#[inline(always)]
fn integer_of(k: f64) -> i64 {
    i64::from(k as i32)
}

#[inline(always)]
pub(crate) fn exp_f64(x: f64) -> f64 {
    let k = round_to_integer(x * LOG2_E);
    let r = x - k * LN2_HI;
    let r = r - k * LN2_LO;
    let polynomial = horner(&EXP_COEFFICIENTS, r);
    let exponent = integer_of(k) + 1023;
    polynomial * f64::from_bits((exponent << 52) as u64)
}

/// exp(x); overflow gives +infinity, NaN gives NaN.
#[inline]
pub fn exp(x: f32) -> f32 {
    let wide = f64::from(x);
    // Written out, because `clamp` and `min`/`max` treat NaN in ways of their own.
    let low = if wide < EXP_MIN { EXP_MIN } else { wide };
    let clamped = if low > EXP_MAX { EXP_MAX } else { low };
    planted(exp_f64(clamped) as f32)
}

/// The deliberately wrong build moves finite, nonzero results one unit in the last place up.
#[cfg(feature = "exp_ulp_off")]
fn planted(y: f32) -> f32 {
    if y > 0.0 && y < f32::MAX {
        f32::from_bits(y.to_bits() + 1)
    } else {
        y
    }
}

#[cfg(not(feature = "exp_ulp_off"))]
#[inline(always)]
fn planted(y: f32) -> f32 {
    y
}

/// (sin(x), cos(x)) for |x| < 2^20; NaN beyond.
pub fn sin_cos(x: f32) -> (f32, f32) {
    let wide = f64::from(x);
    let wide = if wide > -TRIG_LIMIT && wide < TRIG_LIMIT { wide } else { f64::NAN };
    let k = round_to_integer(wide * TWO_OVER_PI);
    let r = ((wide - k * HALF_PI[0]) - k * HALF_PI[1]) - k * HALF_PI[2];
    let square = r * r;
    let sine = r * horner(&SIN_COEFFICIENTS, square);
    let cosine = horner(&COS_COEFFICIENTS, square);
    let (sine, cosine) = match integer_of(k) & 3 {
        0 => (sine, cosine),
        1 => (cosine, -sine),
        2 => (-sine, -cosine),
        _ => (-cosine, sine),
    };
    (sine as f32, cosine as f32)
}

/// Below this tanh is x - x^3/3.
const TANH_SMALL: f64 = 0.000244140625;
const ONE_THIRD: f64 = 1.0 / 3.0;

/// tanh(x); saturates at 1, keeps the sign of zero.
pub fn tanh(x: f32) -> f32 {
    let wide = f64::from(x);
    let size = wide.abs();
    let doubled = size * -2.0;
    let decay = exp_f64(if doubled < EXP_MIN { EXP_MIN } else { doubled });
    let large = (1.0 - decay) / (1.0 + decay);
    let value = if size < TANH_SMALL { size - size * size * size * ONE_THIRD } else { large };
    value.copysign(wide) as f32
}

/// The soft cap `cap * tanh(x / cap)`.
pub fn softcap(x: f32, cap: f32) -> f32 {
    cap * tanh(x / cap)
}

const ERF_LIMIT: f64 = 4.0;
const TWO_OVER_SQRT_PI: f64 = 1.1283791670955126;
const ERF_TERMS: usize = 56;

/// The coefficients 2^n/(2n+1)!! of erf, from the highest power down.
pub struct ErfSeries([f64; ERF_TERMS]);

impl ErfSeries {
    /// Compute the coefficients: each the one before, times 2, over 2n + 1.
    #[allow(clippy::new_without_default)]
    pub fn new() -> ErfSeries {
        let mut coefficients = [1.0; ERF_TERMS];
        for n in 1..ERF_TERMS {
            let before = coefficients[ERF_TERMS - n];
            coefficients[ERF_TERMS - 1 - n] = before * 2.0 / (2 * n + 1) as f64;
        }
        ErfSeries(coefficients)
    }

    /// erf(x): `(2/sqrt(pi) * x) * (exp(-x^2) * S(x^2))`; 1 from 4 on, keeps the sign of zero.
    pub fn erf(&self, x: f32) -> f32 {
        let wide = f64::from(x);
        let size = wide.abs();
        let size = if size > ERF_LIMIT { ERF_LIMIT } else { size };
        let square = size * size;
        let series = exp_f64(-square) * horner(&self.0, square);
        ((TWO_OVER_SQRT_PI * size) * series).copysign(wide) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_points() {
        if cfg!(not(feature = "exp_ulp_off")) {
            assert_eq!(exp(0.0), 1.0);
            assert_eq!(exp(1.0), std::f32::consts::E);
        }
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
        assert_eq!(exp(f32::INFINITY), f32::INFINITY);
        assert!(exp(f32::NAN).is_nan());
        assert_eq!((tanh(1000.0), tanh(-1000.0)), (1.0, -1.0));
        assert_eq!(tanh(-0.0).to_bits(), (-0.0f32).to_bits());
        assert!(tanh(f32::NAN).is_nan() && ErfSeries::new().erf(f32::NAN).is_nan());
        assert_eq!((ErfSeries::new().erf(5.0), ErfSeries::new().erf(-0.5)), (1.0, -0.5204999));
        assert_eq!(sin_cos(0.0), (0.0, 1.0));
        assert!(sin_cos(1048576.0).0.is_nan());
    }

    #[test]
    fn quadrants_follow_the_circle() {
        for i in -40..40 {
            let x = i as f32 * 0.37;
            let (sine, cosine) = sin_cos(x);
            assert!((f64::from(sine) - f64::from(x).sin()).abs() < 1e-7, "sin {}", x);
            assert!((f64::from(cosine) - f64::from(x).cos()).abs() < 1e-7, "cos {}", x);
        }
    }
}
