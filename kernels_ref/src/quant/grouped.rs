//! What the grouped formats share: symmetric codes, a scale a group, `w = f32(code) * f32(scale)`.

use super::scales::Encoding;
use super::sparse::Sparse;
use crate::error::{Code, Error, Result};

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
                type $codes = crate::quant::q8_r128::Q8;
                $call
            }
            Form::Q6 => {
                type $codes = crate::quant::q6_g64::Q6;
                $call
            }
            Form::Q5 => {
                type $codes = crate::quant::q5_g64::Q5;
                $call
            }
            Form::Q4 => {
                type $codes = crate::quant::q4_g64::Q4;
                $call
            }
        }
    };
}
pub(super) use with;

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

    /// The codes of a stored row, one a column of `out`.
    pub fn unpack_row(self, stored: &[u8], out: &mut [i8]) {
        with!(self, C => {
            let mut unit = [0; COLUMNS];
            for (out, bytes) in out.chunks_mut(COLUMNS).zip(stored.chunks_exact(C::UNIT)) {
                C::unpack(bytes, &mut unit);
                out.copy_from_slice(&unit[..out.len()]);
            }
        });
    }
}

/// The format and the encoding of their numbers in the container.
pub fn numbered(dtype: u32, encoding: u32) -> Result<(Form, Encoding)> {
    let narrow = |number: u32| u16::try_from(number).unwrap_or(0);
    match (Form::from_number(narrow(dtype)), Encoding::from_number(narrow(encoding))) {
        (Some(form), Some(encoding)) => Ok((form, encoding)),
        _ => {
            let detail = format!("dtype {} and scale encoding {}", dtype, encoding);
            Err(Error::new(Code::Argument, "format", detail))
        }
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
    #[inline(always)]
    pub fn decode_row(&self, r: usize, out: &mut [f32]) {
        let (codes, scales) = self.row(r);
        // Of what is not checked nothing is wrong.
        let _ = with!(self.form, C => decode::<C, false>(codes, scales, self.encoding, out));
    }

    /// Decode every row, each code and scale checked first; `place` names the tensor.
    #[inline(always)]
    pub fn decode_checked(&self, place: &str, out: &mut [f32]) -> Result<()> {
        with!(self.form, C => self.decode_rows::<C>(place, out))
    }

    #[inline(always)]
    fn decode_rows<C: Codes>(&self, place: &str, out: &mut [f32]) -> Result<()> {
        let codes = self.codes.chunks_exact(self.stride());
        let scales = self.scales.chunks_exact(self.scale_row());
        let rows = out.chunks_exact_mut(self.cols).zip(codes).zip(scales);
        for (r, ((out, codes), scales)) in rows.enumerate() {
            decode::<C, true>(codes, scales, self.encoding, out).map_err(|wrong| {
                self.check(place).err().unwrap_or_else(|| refused(wrong, place, r))
            })?;
        }
        Ok(())
    }

    /// Check every code, padding code and scale; `place` names the tensor.
    pub fn check(&self, place: &str) -> Result<()> {
        match self.fault(place, None) {
            None => Ok(()),
            // Of several faults the rules decide which is named, not the rows.
            Some(first) => [Code::QuantCode, Code::QuantPadding]
                .iter()
                .find_map(|&rule| self.fault(place, Some(rule)))
                .map_or(Err(first), Err),
        }
    }

    /// The first fault, or the first that breaks one rule.
    fn fault(&self, place: &str, rule: Option<Code>) -> Option<Error> {
        (0..self.rows()).find_map(|r| {
            let (codes, scales) = self.row(r);
            let found =
                with!(self.form, C => check::<C>(codes, scales, self.encoding, self.cols, rule));
            found.err().map(|wrong| refused(wrong, place, r))
        })
    }
}

/// What is wrong with a row: the rule, the group, and the words.
pub type Wrong = (Code, usize, String);

#[cold]
fn refused((code, group, detail): Wrong, place: &str, r: usize) -> Error {
    Error::new(code, format!("{} row {} group {}", place, r, group), detail)
}

/// Decode a row unit by unit; where asked for, each is checked while its codes are at hand.
#[inline(always)]
fn decode<C: Codes, const CHECKED: bool>(
    codes: &[u8],
    scales: &[u8],
    encoding: Encoding,
    out: &mut [f32],
) -> std::result::Result<(), Wrong> {
    let (whole, tail) = out.split_at_mut(out.len() / COLUMNS * COLUMNS);
    let mut units = codes.chunks_exact(C::UNIT).enumerate();
    for (out, (u, bytes)) in whole.chunks_exact_mut(COLUMNS).zip(&mut units) {
        decode_unit::<C, CHECKED>(bytes, u, COLUMNS, scales, encoding, out)?;
    }
    if let (false, Some((u, bytes))) = (tail.is_empty(), units.next()) {
        let mut unit = [0.0; COLUMNS];
        decode_unit::<C, CHECKED>(bytes, u, tail.len(), scales, encoding, &mut unit)?;
        tail.copy_from_slice(&unit[..tail.len()]);
    }
    Ok(())
}

/// Decode unit `u` of a row, of which `used` columns count.
#[inline(always)]
fn decode_unit<C: Codes, const CHECKED: bool>(
    bytes: &[u8],
    u: usize,
    used: usize,
    scales: &[u8],
    encoding: Encoding,
    out: &mut [f32],
) -> std::result::Result<(), Wrong> {
    let mut unit = [0; COLUMNS];
    C::unpack(bytes, &mut unit);
    let word = encoding.word(scales, u * COLUMNS / C::GROUP);
    if CHECKED && !is_sound::<C>(&unit, used, encoding, word) {
        return Err(what_is_wrong::<C>(bytes, u, used, encoding, word));
    }
    let scale = encoding.value(word);
    for (out, &code) in out.iter_mut().zip(&unit) {
        *out = f32::from(code) * scale;
    }
    Ok(())
}

fn check<C: Codes>(
    codes: &[u8],
    scales: &[u8],
    encoding: Encoding,
    cols: usize,
    rule: Option<Code>,
) -> std::result::Result<(), Wrong> {
    let mut unit = [0; COLUMNS];
    for (u, bytes) in codes.chunks_exact(C::UNIT).enumerate() {
        C::unpack(bytes, &mut unit);
        let word = encoding.word(scales, u * COLUMNS / C::GROUP);
        let used = COLUMNS.min(cols - u * COLUMNS);
        if !is_sound::<C>(&unit, used, encoding, word) {
            let wrong = what_is_wrong::<C>(bytes, u, used, encoding, word);
            if rule.map_or(true, |rule| rule == wrong.0) {
                return Err(wrong);
            }
        }
    }
    Ok(())
}

/// Whether a writer stores this unit, of which `used` columns count, under this scale.
#[inline(always)]
fn is_sound<C: Codes>(unit: &[i8; COLUMNS], used: usize, encoding: Encoding, word: u16) -> bool {
    // All codes are looked at, so that there are lanes to fill.
    let lowest = unit.iter().fold(0, |found, &code| found | u8::from(code == -C::Q - 1));
    let is_zero = |codes: &[i8]| codes.iter().fold(0, |any, &code| any | code) == 0;
    lowest == 0
        && encoding.is_stored(word, C::Q.into())
        && (word != 0 || is_zero(unit))
        && (used == COLUMNS || is_zero(&unit[used..]))
}

/// The rule that unit `u` of a row breaks.
#[cold]
#[inline(never)]
fn what_is_wrong<C: Codes>(
    bytes: &[u8],
    u: usize,
    used: usize,
    encoding: Encoding,
    word: u16,
) -> Wrong {
    let mut unit = [0; COLUMNS];
    C::unpack(bytes, &mut unit);
    let lowest = -C::Q - 1;
    let (code, detail) = if unit.contains(&lowest) {
        (Code::QuantCode, format!("the code {}", lowest))
    } else if unit[used..].iter().any(|&code| code != 0) {
        (Code::QuantPadding, "a padding code is not 0".into())
    } else if encoding.is_stored(word, C::Q.into()) {
        (Code::Scale, "scale bits 0000: over a nonzero code".into())
    } else {
        (Code::Scale, format!("scale bits {:04x}: never stored", word))
    };
    (code, u * COLUMNS / C::GROUP, detail)
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
            assert_eq!(check(3, 1, 0x3c00), Err(Code::QuantPadding));
            assert_eq!(check(0, 1, 0), Err(Code::Scale));
            for bad in [0x8000, 0x0001, 0x7c00, 0x7e00, 0xbc00] {
                assert_eq!(check(0, 0, bad), Err(Code::Scale), "{:04x}", bad);
            }
            assert_eq!(check(0, 0, 0), Ok(()));
        }
    }
}
