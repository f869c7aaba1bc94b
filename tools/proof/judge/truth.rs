//! True values in float64, each with a relative error below 2^-50.
//!
//! Another way than the functions on trial: tables of true values and short Taylor polynomials, and
//! for sine and cosine a reduction in integers. The argument for each bound is in
//! docs/elementary-proof.md; u is 2^-53, the error of one rounding, and 2^-50 is 8 u.

use crate::tables::{Tables, ERF_DEGREE, LOG_FIRST};

/// What is known of the true value at one input.
pub enum Truth {
    /// It differs from this float64 by less than 2^-50 of it. Zeros and infinities are exact.
    Near(f64),
    /// The function is not defined, or not pinned, there.
    Undefined,
    /// Float64 does not tell.
    Unknown,
}

/// The true value of a function at a float32 that is not NaN.
pub type Function = fn(&Tables, f32) -> Truth;

/// The function of a name.
pub fn of_name(name: &str) -> Result<Function, String> {
    Ok(match name {
        "exp" => |tables, x| Truth::Near(exp(tables, f64::from(x))),
        "sin" => |tables, x| circle(tables, f64::from(x), 0),
        "cos" => |tables, x| circle(tables, f64::from(x), 1),
        "tanh" => |tables, x| Truth::Near(tanh(tables, f64::from(x))),
        "erf" => |tables, x| Truth::Near(erf(tables, f64::from(x))),
        "log" => |tables, x| log(tables, f64::from(x)),
        "rsqrt" => |_, x| rsqrt(f64::from(x)),
        _ => return Err(format!("no function {}", name)),
    })
}

/// Coefficients from the highest power down.
fn horner<const N: usize>(coefficients: [f64; N], x: f64) -> f64 {
    coefficients.iter().skip(1).fold(coefficients[0], |sum, c| sum * x + c)
}

/// exp(r) - 1 for 0 <= r < 1/128, within 2.1 u.
fn expm1_of_small(r: f64) -> f64 {
    let c = [1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0];
    r * horner(c, r)
}

/// exp(k + j/256) * exp(r): 4.1 u. Beyond the clamps float32 has 0 and infinity.
fn exp(tables: &Tables, x: f64) -> f64 {
    let x = x.clamp(-128.0, 127.99609375);
    let cell = (x * 256.0).floor();
    let r = x - cell / 256.0;
    let index = cell as i64 + 128 * 256;
    let whole = tables.exp_whole[(index >> 8) as usize] * tables.exp_part[(index & 255) as usize];
    whole + whole * expm1_of_small(r)
}

/// With m = exp(2|x|) - 1: m / (m + 2), 5.6 u. From 20 on tanh rounds to 1.
fn tanh(tables: &Tables, x: f64) -> f64 {
    let doubled = (2.0 * x.abs()).min(40.0);
    let cell = (doubled * 128.0).floor();
    let r = doubled - cell / 128.0;
    let n = cell as usize;
    let m = tables.expm1[n] + tables.exp[n] * expm1_of_small(r);
    (m / (m + 2.0)).copysign(x)
}

/// Taylor at the left end of a cell of 1/64, 3.3 u; in the first cell the series in x^2, 4.1 u.
/// From 4 on erf rounds to 1.
fn erf(tables: &Tables, x: f64) -> f64 {
    let size = x.abs().min(4.0);
    let n = (size * 64.0).floor();
    if n == 0.0 {
        let c = [1.0 / 216.0, -1.0 / 42.0, 1.0 / 10.0, -1.0 / 3.0, 1.0];
        return (tables.erf_slope * x) * horner(c, size * size);
    }
    let r = size - n / 64.0;
    let first = n as usize * (ERF_DEGREE + 1);
    let cell = &tables.erf[first..=first + ERF_DEGREE];
    let sum = cell.iter().rev().skip(1).fold(cell[ERF_DEGREE], |sum, c| sum * r + c);
    sum.copysign(x)
}

/// k ln 2 - ln(c) + ln(c m), where x = 2^k m and c m - 1 is exact: 4.1 u.
fn log(tables: &Tables, x: f64) -> Truth {
    if x == 0.0 {
        return Truth::Near(f64::NEG_INFINITY);
    }
    if x < 0.0 {
        return Truth::Undefined;
    }
    if x == f64::INFINITY {
        return Truth::Near(x);
    }
    let bits = x.to_bits();
    let mut k = (bits >> 52) as i64 - 1023;
    let mut m = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if m >= 181.0 / 128.0 {
        m *= 0.5;
        k += 1;
    }
    let cell = (m * 128.0).round() as usize - LOG_FIRST;
    let r = m * tables.log_inverse[cell] - 1.0;
    let c = [1.0 / 9.0, -1.0 / 8.0, 1.0 / 7.0, -1.0 / 6.0, 1.0 / 5.0, -1.0 / 4.0, 1.0 / 3.0, -0.5];
    let small = r + r * r * horner(c, r);
    let k = k as f64;
    let large = k * tables.ln2[0] + tables.log[cell];
    Truth::Near(large + (k * tables.ln2[1] + small))
}

/// A root and a division: 1.5 u.
fn rsqrt(x: f64) -> Truth {
    if x < 0.0 {
        Truth::Undefined
    } else {
        Truth::Near(1.0 / x.sqrt())
    }
}

/// Bits behind the point of the integers in which arguments are reduced.
const FRACTION: i32 = 104;
/// Nearer to a multiple of pi/2 than this, the reduced argument is not exact enough.
const NEAR_NODE: f64 = 5.960464477539063e-8; // 2^-24

/// sin(x + shift pi/2) for |x| < 2^20: 3.2 u.
fn circle(tables: &Tables, x: f64, shift: i64) -> Truth {
    if !(x.abs() < 1048576.0) {
        return Truth::Undefined;
    }
    let (r, quadrant) = if x.abs() < 0.78125 {
        (x, 0)
    } else {
        let k = (x * std::f64::consts::FRAC_2_PI).round() as i64;
        let rest = fixed(x) - i128::from(k) * tables.half_pi;
        let r = rest as f64 * f64::from_bits(((1023 - FRACTION) as u64) << 52);
        if r.abs() < NEAR_NODE {
            return Truth::Unknown;
        }
        (r, k)
    };
    Truth::Near(match (quadrant + shift) & 3 {
        0 => sine(r),
        1 => cosine(r),
        2 => -sine(r),
        _ => -cosine(r),
    })
}

/// x in units of 2^-104, for 2^-52 <= |x| < 2^20: exact.
fn fixed(x: f64) -> i128 {
    let bits = x.to_bits();
    let power = (bits >> 52 & 2047) as i32 - 1075 + FRACTION;
    let size = i128::from(bits & ((1 << 52) - 1) | 1 << 52) << power;
    if x < 0.0 {
        -size
    } else {
        size
    }
}

/// |r| <= 0.786; the first omitted term is below 2^-62 of r.
fn sine(r: f64) -> f64 {
    let z = r * r;
    let c = [
        1.0 / 355687428096000.0,
        -1.0 / 1307674368000.0,
        1.0 / 6227020800.0,
        -1.0 / 39916800.0,
        1.0 / 362880.0,
        -1.0 / 5040.0,
        1.0 / 120.0,
        -1.0 / 6.0,
    ];
    r + r * (z * horner(c, z))
}

/// |r| <= 0.786; the first omitted term is below 2^-67.
fn cosine(r: f64) -> f64 {
    let z = r * r;
    let c = [
        -1.0 / 6402373705728000.0,
        1.0 / 20922789888000.0,
        -1.0 / 87178291200.0,
        1.0 / 479001600.0,
        -1.0 / 3628800.0,
        1.0 / 40320.0,
        -1.0 / 720.0,
        1.0 / 24.0,
    ];
    (1.0 - 0.5 * z) + z * z * horner(c, z)
}
