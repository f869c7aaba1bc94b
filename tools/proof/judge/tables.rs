//! Tables of true values, each the float64 nearest to a number of 60 digits (`tables.py`).

use std::io::Read;

pub const ERF_CELLS: usize = 257;
pub const ERF_DEGREE: usize = 9;
pub const LOG_FIRST: usize = 90;
pub const LOG_CELLS: usize = 92;
pub const EXPM1_CELLS: usize = 5121;

/// All tables, in the order in which they are read.
pub struct Tables {
    /// exp(k) for k = -128 to 127.
    pub exp_whole: Vec<f64>,
    /// exp(j/256) for j = 0 to 255.
    pub exp_part: Vec<f64>,
    /// exp(n/128) - 1 for n = 0 to 5120.
    pub expm1: Vec<f64>,
    /// exp(n/128) for n = 0 to 5120.
    pub exp: Vec<f64>,
    /// Taylor coefficients of erf at n/64, degree 0 first, for n = 0 to 256.
    pub erf: Vec<f64>,
    /// Numbers of at most 10 bits near 128/j for j = 90 to 181.
    pub log_inverse: Vec<f64>,
    /// Minus the logarithms of those numbers.
    pub log: Vec<f64>,
    /// ln 2 in two parts; the first has 33 bits.
    pub ln2: Vec<f64>,
    /// 2/sqrt(pi).
    pub erf_slope: f64,
    /// pi/2 in units of 2^-104.
    pub half_pi: i128,
}

impl Tables {
    /// Read all of them: float64, little-endian, then 16 bytes of an integer.
    pub fn read(input: &mut impl Read) -> Result<Tables, String> {
        let mut next = |count| floats(input, count);
        let exp_whole = next(256)?;
        let exp_part = next(256)?;
        let expm1 = next(EXPM1_CELLS)?;
        let exp = next(EXPM1_CELLS)?;
        let erf = next(ERF_CELLS * (ERF_DEGREE + 1))?;
        let log_inverse = next(LOG_CELLS)?;
        let log = next(LOG_CELLS)?;
        let ln2 = next(2)?;
        let erf_slope = next(1)?[0];
        let mut bytes = [0u8; 16];
        input.read_exact(&mut bytes).map_err(|error| format!("tables: {}", error))?;
        let half_pi = i128::from_le_bytes(bytes);
        Ok(Tables {
            exp_whole,
            exp_part,
            expm1,
            exp,
            erf,
            log_inverse,
            log,
            ln2,
            erf_slope,
            half_pi,
        })
    }
}

fn floats(input: &mut impl Read, count: usize) -> Result<Vec<f64>, String> {
    let mut bytes = vec![0u8; 8 * count];
    input.read_exact(&mut bytes).map_err(|error| format!("tables: {}", error))?;
    let one = |part: &[u8]| f64::from_le_bytes(part.try_into().expect("eight bytes"));
    Ok(bytes.chunks_exact(8).map(one).collect())
}
