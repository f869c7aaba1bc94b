//! What the grouped formats share: symmetric codes, a scale a group, `w = f32(code) * f32(scale)`.

use super::scales::Encoding;
use super::sparse::Sparse;
use super::{q4_g64::Q4, q5_g64::Q5, q6_g64::Q6, q8_r128::Q8};
use crate::error::{ensure, Code, Error, Result};

/// Columns that are packed together; a stored row holds a multiple of them.
pub const COLUMNS: usize = 64;

/// How codes are packed: one implementation a format.
pub trait Codes {
    /// The largest code; the smallest is `-Q`.
    const Q: i8;
    /// Columns that share a scale.
    const GROUP: usize;
    /// Bytes of 64 codes.
    const UNIT: usize;

    /// 64 codes from `UNIT` bytes.
    fn unpack(bytes: &[u8], out: &mut [i8; COLUMNS]);

    /// 64 codes into `UNIT` bytes.
    fn pack(codes: &[i8; COLUMNS], bytes: &mut [u8]);
}

/// The formats, by their numbers as dtypes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// 4.
    Q8,
    /// 5.
    Q6,
    /// 6.
    Q5,
    /// 7.
    Q4,
}

/// Call a function that is generic over the format.
macro_rules! with {
    ($form:expr, $codes:ident => $call:expr) => {
        match $form {
            Form::Q8 => {
                type $codes = Q8;
                $call
            }
            Form::Q6 => {
                type $codes = Q6;
                $call
            }
            Form::Q5 => {
                type $codes = Q5;
                $call
            }
            Form::Q4 => {
                type $codes = Q4;
                $call
            }
        }
    };
}

impl Form {
    /// The format of a dtype.
    pub fn from_number(dtype: u16) -> Option<Form> {
        match dtype {
            4 => Some(Form::Q8),
            5 => Some(Form::Q6),
            6 => Some(Form::Q5),
            7 => Some(Form::Q4),
            _ => None,
        }
    }

    /// Bytes of a stored row.
    pub fn stride(self, cols: usize) -> usize {
        self.row_bytes(cols as u64) as usize
    }

    /// Scales of a row.
    pub fn groups(self, cols: usize) -> usize {
        self.row_groups(cols as u64) as usize
    }

    /// Bytes of a stored row of any declared width below 2^32.
    pub fn row_bytes(self, cols: u64) -> u64 {
        above(cols, COLUMNS as u64) * with!(self, C => C::UNIT as u64)
    }

    /// Scales of a row of any declared width.
    pub fn row_groups(self, cols: u64) -> u64 {
        above(cols, self.group() as u64)
    }

    /// Whether the width has this code, the lowest included.
    pub fn holds(self, code: i8) -> bool {
        let q = with!(self, C => C::Q);
        (-q - 1..=q).contains(&code)
    }

    /// Columns that share a scale.
    pub fn group(self) -> usize {
        with!(self, C => C::GROUP)
    }
}

/// Quotient, rounded up.
fn above(count: u64, unit: u64) -> u64 {
    (count + unit - 1) / unit
}

/// Code plane and scale plane of a matrix, and its residual, if it has one.
#[derive(Clone, Copy)]
pub struct Grouped<'a> {
    /// The format of the codes.
    pub form: Form,
    /// That of the scales.
    pub encoding: Encoding,
    /// rows * stride bytes.
    pub codes: &'a [u8],
    /// rows * groups words.
    pub scales: &'a [u8],
    /// Columns that count.
    pub cols: usize,
    /// What is added to the product.
    pub residual: Option<Sparse<'a>>,
}

impl Grouped<'_> {
    fn stride(&self) -> usize {
        self.form.stride(self.cols)
    }

    fn scale_row(&self) -> usize {
        self.form.groups(self.cols) * self.encoding.size()
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.codes.len() / self.stride()
    }

    fn row(&self, r: usize) -> (&[u8], &[u8]) {
        let (stride, bytes) = (self.stride(), self.scale_row());
        (&self.codes[r * stride..(r + 1) * stride], &self.scales[r * bytes..(r + 1) * bytes])
    }

    /// Decode row `r` without its residual; each weight is rounded once.
    pub fn decode_row(&self, r: usize, out: &mut [f32]) {
        let (codes, scales) = self.row(r);
        with!(self.form, C => decode::<C>(codes, scales, self.encoding, out))
    }

    /// Check every code, padding code and scale; `place` names the tensor.
    pub fn check(&self, place: &str) -> Result<()> {
        for r in 0..self.rows() {
            let (codes, scales) = self.row(r);
            with!(self.form, C => check::<C>(codes, scales, self.encoding, self.cols)).map_err(
                |(code, at, detail)| Error::new(code, format!("{} row {}{}", place, r, at), detail),
            )?;
        }
        Ok(())
    }
}

fn decode<C: Codes>(codes: &[u8], scales: &[u8], encoding: Encoding, out: &mut [f32]) {
    let mut unit = [0; COLUMNS];
    for (u, (out, bytes)) in out.chunks_mut(COLUMNS).zip(codes.chunks_exact(C::UNIT)).enumerate() {
        C::unpack(bytes, &mut unit);
        let scale = encoding.value(encoding.word(scales, u * COLUMNS / C::GROUP));
        for (out, &code) in out.iter_mut().zip(&unit) {
            *out = f32::from(code) * scale;
        }
    }
}

/// What is wrong with a row: the rule, the group, and the words.
type Wrong = (Code, String, String);

fn check<C: Codes>(
    codes: &[u8],
    scales: &[u8],
    encoding: Encoding,
    cols: usize,
) -> std::result::Result<(), Wrong> {
    let mut unit = [0; COLUMNS];
    for (u, bytes) in codes.chunks_exact(C::UNIT).enumerate() {
        C::unpack(bytes, &mut unit);
        let used = COLUMNS.min(cols - u * COLUMNS);
        if unit[used..].iter().any(|&code| code != 0) {
            let detail = "a padding code is not 0".into();
            return Err((Code::QuantCode, String::new(), detail));
        }
        let group = u * COLUMNS / C::GROUP;
        let at = format!(" group {}", group);
        if unit[..used].contains(&(-C::Q - 1)) {
            return Err((Code::QuantCode, at, format!("the code {}", -i32::from(C::Q) - 1)));
        }
        let word = encoding.word(scales, group);
        if !encoding.is_stored(word, C::Q.into()) {
            return Err((Code::Scale, at, format!("scale bits {:04x}: never stored", word)));
        }
        if word == 0 && unit.iter().any(|&code| code != 0) {
            return Err((Code::Scale, at, "scale bits 0000: over a nonzero code".into()));
        }
    }
    Ok(())
}

/// Append the codes (one a column, and zeros up to a multiple of 64) and scale words of one row.
///
/// code = clamp(round_ties_even(x / f32(scale)), -Q, Q) by true division; `place` names the row.
pub fn quantize_row(
    form: Form,
    encoding: Encoding,
    row: &[f32],
    place: &str,
    codes: &mut Vec<i8>,
    words: &mut Vec<u16>,
) -> Result<()> {
    let q = f32::from(with!(form, C => C::Q));
    for (g, group) in row.chunks(form.group()).enumerate() {
        let mut absmax = 0.0f32;
        for &value in group {
            ensure(value.is_finite(), || Error::new(Code::Argument, place, "is not finite"))?;
            absmax = absmax.max(value.abs());
        }
        let word = encoding.choose(absmax, q).ok_or_else(|| {
            let detail = format!("no {:?} holds the scale {}", encoding, absmax / q);
            Error::new(Code::Scale, format!("{} group {}", place, g), detail)
        })?;
        let divisor = if word == 0 { 1.0 } else { encoding.value(word) };
        codes.extend(group.iter().map(|&value| code_of(value / divisor, q)));
        words.push(word);
    }
    codes.resize((codes.len() + COLUMNS - 1) / COLUMNS * COLUMNS, 0);
    Ok(())
}

/// The nearest integer, ties to even, clamped to +-q.
pub(super) fn code_of(quotient: f32, q: f32) -> i8 {
    // Adding and subtracting 1.5 * 2^23 rounds what is below 2^22; quotients are below 2 q.
    const MAGIC: f32 = 12582912.0;
    let rounded = (quotient + MAGIC) - MAGIC;
    rounded.clamp(-q, q) as i8
}

/// Append whole units of codes as they are stored; the caller has made room.
pub fn pack_codes(form: Form, codes: &[i8], stored: &mut Vec<u8>) {
    with!(form, C => {
        let mut unit = [0; COLUMNS];
        for part in codes.chunks_exact(COLUMNS) {
            unit.copy_from_slice(part);
            let start = stored.len();
            stored.resize(start + C::UNIT, 0);
            C::pack(&unit, &mut stored[start..]);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMS: [Form; 4] = [Form::Q8, Form::Q6, Form::Q5, Form::Q4];

    #[test]
    fn every_code_survives_at_every_place() {
        for form in FORMS {
            let q = i32::from(with!(form, C => C::Q));
            let codes: Vec<i8> = (0..192).map(|i| (i * 7 % (2 * q + 1) - q) as i8).collect();
            let mut stored = Vec::new();
            pack_codes(form, &codes, &mut stored);
            assert_eq!(stored.len(), form.stride(192));
            let scales = vec![127; 3];
            let matrix = Grouped {
                form,
                encoding: Encoding::E8m0,
                codes: &stored,
                scales: &scales[..form.groups(192)],
                cols: 192,
                residual: None,
            };
            let mut row = [0.0; 192];
            matrix.decode_row(0, &mut row);
            assert!(row.iter().zip(&codes).all(|(&w, &c)| w == f32::from(c)), "{:?}", form);
            matrix.check("w").unwrap();
        }
    }

    #[test]
    fn a_row_is_quantized_by_the_rules() {
        let row = [127.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5];
        let (mut codes, mut words) = (Vec::new(), Vec::new());
        quantize_row(Form::Q8, Encoding::Fp16, &row, "x", &mut codes, &mut words).unwrap();
        assert_eq!((&codes[..7], codes.len()), (&[127, 0, 2, 2, 0, -2, -2][..], 64));
        assert_eq!(words, [0x3c00]);
        for (row, code) in [([f32::NAN], Code::Argument), ([1e9], Code::Scale)] {
            let (mut codes, mut words) = (Vec::new(), Vec::new());
            let found = quantize_row(Form::Q4, Encoding::Fp16, &row, "x", &mut codes, &mut words);
            assert_eq!(found.unwrap_err().code, code);
        }
    }

    #[test]
    fn bad_codes_and_scales_are_named() {
        for form in FORMS {
            let lowest = with!(form, C => -C::Q - 1);
            let check = |at: usize, code: i8, scale: u16| {
                let mut codes = [0i8; 64];
                codes[at] = code;
                let mut stored = Vec::new();
                pack_codes(form, &codes, &mut stored);
                let scales = scale.to_le_bytes();
                let encoding = Encoding::Fp16;
                let residual = None;
                Grouped { form, encoding, codes: &stored, scales: &scales, cols: 3, residual }
                    .check("w")
                    .map_err(|error| error.code)
            };
            assert_eq!(check(1, lowest, 0x3c00), Err(Code::QuantCode));
            assert_eq!(check(3, 1, 0x3c00), Err(Code::QuantCode));
            assert_eq!(check(0, 1, 0), Err(Code::Scale));
            for bad in [0x8000, 0x0001, 0x7c00, 0x7e00, 0xbc00] {
                assert_eq!(check(0, 0, bad), Err(Code::Scale), "{:04x}", bad);
            }
            assert_eq!(check(0, 0, 0), Ok(()));
        }
    }
}
