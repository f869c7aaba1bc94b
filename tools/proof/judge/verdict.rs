//! Results against true values: how far each is from the nearest float32.

use crate::truth::Truth;

/// Twice the proven error: the rounding of the two ends of the interval is in it.
const MARGIN: f64 = 1.7763568394002505e-15; // 2^-49

/// The worst inputs that are kept of a range.
const WORST: usize = 16;
/// Inputs off by more than one unit, or undecided, that are kept; beyond, they are only counted.
const KEPT: usize = 65536;

/// Counts over a range of inputs.
#[derive(Default)]
pub struct Tally {
    /// NaN where the function has no value.
    nan: u64,
    /// Results 0, 1 and more units from the nearest float32.
    ulp: [u64; 3],
    undecided: u64,
    wrong: Vec<(u32, u32)>,
    doubtful: Vec<(u32, u32)>,
    /// Largest distances from the true value, in units in the last place; largest first.
    worst: Vec<(f64, u32, u32)>,
}

impl Tally {
    /// Judge the result `got` at the input of the pattern `bits`.
    pub fn add(&mut self, bits: u32, got: f32, truth: Truth) {
        if f32::from_bits(bits).is_nan() {
            return self.undefined(bits, got);
        }
        match truth {
            Truth::Undefined => self.undefined(bits, got),
            Truth::Unknown => self.doubt(bits, got),
            Truth::Near(value) => self.compare(bits, got, value),
        }
    }

    fn undefined(&mut self, bits: u32, got: f32) {
        if got.is_nan() {
            self.nan += 1;
        } else {
            self.more(bits, got);
        }
    }

    fn doubt(&mut self, bits: u32, got: f32) {
        self.undecided += 1;
        if self.doubtful.len() < KEPT {
            self.doubtful.push((bits, got.to_bits()));
        }
    }

    fn more(&mut self, bits: u32, got: f32) {
        self.ulp[2] += 1;
        if self.wrong.len() < KEPT {
            self.wrong.push((bits, got.to_bits()));
        }
    }

    /// Rounding is monotone: where both ends of the interval round alike, so does the true value.
    fn compare(&mut self, bits: u32, got: f32, value: f64) {
        let exact = value == 0.0 || value.is_infinite();
        let reach = if exact { 0.0 } else { value.abs() * MARGIN };
        let (low, high) = ((value - reach) as f32, (value + reach) as f32);
        if !exact && low.to_bits() != high.to_bits() {
            return self.doubt(bits, got);
        }
        let nearest = if exact { value as f32 } else { low };
        match distance(got, nearest) {
            Some(0) => self.ulp[0] += 1,
            Some(1) => self.ulp[1] += 1,
            _ => return self.more(bits, got),
        }
        if !exact && got.is_finite() {
            self.rank((f64::from(got) - value).abs() / unit(value), bits, got);
        }
    }

    #[inline(always)]
    fn rank(&mut self, error: f64, bits: u32, got: f32) {
        if self.worst.len() == WORST && error <= self.worst[WORST - 1].0 {
            return;
        }
        let at = self.worst.partition_point(|one| one.0 >= error);
        self.worst.insert(at, (error, bits, got.to_bits()));
        self.worst.truncate(WORST);
    }

    /// One JSON object; bit patterns as numbers.
    pub fn json(&self, function: &str, start: u64, count: u64) -> String {
        let pairs = |list: &[(u32, u32)]| {
            let texts: Vec<String> =
                list.iter().map(|one| format!("[{},{}]", one.0, one.1)).collect();
            texts.join(",")
        };
        let worst: Vec<String> =
            self.worst.iter().map(|one| format!("[{},{},{}]", one.0, one.1, one.2)).collect();
        format!(
            "{{\"function\":\"{}\",\"start\":{},\"count\":{},\"nan\":{},\"ulp\":[{},{},{}],\
             \"undecided\":{},\"more\":[{}],\"doubtful\":[{}],\"worst\":[{}]}}",
            function,
            start,
            count,
            self.nan,
            self.ulp[0],
            self.ulp[1],
            self.ulp[2],
            self.undecided,
            pairs(&self.wrong),
            pairs(&self.doubtful),
            worst.join(",")
        )
    }
}

/// Steps between two float32 of the same sign, NaN and other signs apart.
fn distance(got: f32, nearest: f32) -> Option<u32> {
    if got.is_nan() || got.is_sign_negative() != nearest.is_sign_negative() {
        return None;
    }
    Some(got.to_bits().abs_diff(nearest.to_bits()))
}

/// The distance of neighbouring float32 around a float64.
fn unit(value: f64) -> f64 {
    let exponent = ((value.to_bits() >> 52) & 2047) as i64 - 1023;
    f64::from_bits(((exponent.max(-126) - 23 + 1023) as u64) << 52)
}
