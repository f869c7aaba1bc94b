//! The functions on trial: the runtime's own source.

use crate::elementary::{self, ErfSeries};

/// A function of the runtime, ready to run.
pub enum Candidate {
    /// A plain function.
    Plain(fn(f32, &mut f32)),
    /// erf with its coefficients.
    Erf(ErfSeries),
}

impl Candidate {
    /// The function of a name; `log` is no function of the runtime.
    pub fn of_name(name: &str) -> Result<Candidate, String> {
        Ok(match name {
            "exp" => Candidate::Plain(|x, y| *y = elementary::exp(x)),
            "sin" => Candidate::Plain(|x, y| *y = elementary::sin_cos(x).0),
            "cos" => Candidate::Plain(|x, y| *y = elementary::sin_cos(x).1),
            "tanh" => Candidate::Plain(|x, y| *y = elementary::tanh(x)),
            // As the norms have it: a square root and a division, each rounded to f32.
            "rsqrt" => Candidate::Plain(|x, y| *y = 1.0 / x.sqrt()),
            "erf" => Candidate::Erf(ErfSeries::new()),
            _ => return Err(format!("the runtime has no {}", name)),
        })
    }

    /// The results on the patterns `first`, `first + 1`, ...
    pub fn fill(&self, first: u32, results: &mut [f32]) {
        match self {
            Candidate::Plain(function) => {
                for (i, y) in results.iter_mut().enumerate() {
                    function(f32::from_bits(first + i as u32), y);
                }
            }
            Candidate::Erf(series) => {
                for (i, y) in results.iter_mut().enumerate() {
                    *y = series.erf(f32::from_bits(first + i as u32));
                }
            }
        }
    }
}
