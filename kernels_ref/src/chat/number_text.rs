//! Numbers as Python writes and reads them.

use crate::chat::limits;
use crate::chat::unicode;

/// `repr` of a float; infinities and NaN get the given names.
pub fn float_text(value: f64, infinity: &str, nan: &str) -> String {
    if value.is_nan() {
        return nan.to_string();
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_infinite() {
        return format!("{}{}", sign, infinity);
    }
    // The shortest digits that read back as the same number: d.ddde±x.
    let shortest = format!("{:e}", value.abs());
    let (digits, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let digits = even(value.abs(), digits.replace('.', ""), exponent);
    let point = exponent.parse::<i32>().unwrap_or(0) + 1;
    format!("{}{}", sign, placed(&digits, point))
}

/// Where two of the shortest texts are equally near, the source's language takes the one with an
/// even last digit, the compiler's library the larger one.
fn even(value: f64, digits: String, exponent: &str) -> String {
    // 767 digits hold every float exactly, so nothing is rounded here.
    let exact = format!("{:.770e}", value).replace('.', "");
    let rest = exact.get(digits.len()..).unwrap_or("").split('e').next().unwrap_or("");
    let tie = rest.starts_with('5') && rest[1..].bytes().all(|byte| byte == b'0');
    let lower = &exact[..digits.len().min(exact.len())];
    let odd = digits.bytes().last().map_or(false, |byte| byte % 2 == 1);
    if !tie || !odd || lower == digits {
        return digits;
    }
    let (first, more) = lower.split_at(1);
    let again: Option<f64> = format!("{}.{}e{}", first, more, exponent).parse().ok();
    if again == Some(value) {
        lower.to_string()
    } else {
        digits
    }
}

/// Digits with the point behind the first `point` of them.
fn placed(digits: &str, point: i32) -> String {
    let len = digits.len() as i32;
    if point <= -4 || point > 16 {
        let (first, rest) = digits.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        let sign = if point < 1 { '-' } else { '+' };
        format!("{}{}{}e{}{:02}", first, dot, rest, sign, (point - 1).abs())
    } else if point <= 0 {
        format!("0.{}{}", "0".repeat((-point) as usize), digits)
    } else if point >= len {
        format!("{}{}.0", digits, "0".repeat((point - len) as usize))
    } else {
        let (whole, part) = digits.split_at(point as usize);
        format!("{}.{}", whole, part)
    }
}

/// ASCII for the decimal digits of all scripts, without white space at the ends. None where the
/// text holds anything else beyond ASCII, or is too long for a number.
fn plain(text: &[char]) -> Option<String> {
    if text.len() > limits::DIGITS {
        return None;
    }
    // Within ASCII the four separators U+001C to U+001F are no white space for a number.
    let ascii = text.iter().all(char::is_ascii);
    let space = |&c: &char| unicode::is_space(c) && !(ascii && c >= '\u{1c}' && c < ' ');
    let start = text.iter().position(|c| !space(c)).unwrap_or(text.len());
    let end = text.iter().rposition(|c| !space(c)).map_or(start, |at| at + 1);
    text[start..end]
        .iter()
        .map(|&c| match unicode::decimal(c) {
            Some(digit) => Some(char::from(b'0' + digit)),
            None => Some(c).filter(char::is_ascii),
        })
        .collect()
}

/// Digits without the underscores that may stand between two of them.
fn joined_digits(text: &str, base: u32, before: bool) -> Option<String> {
    let mut after_digit = before;
    let mut made = String::new();
    for c in text.chars() {
        if c == '_' {
            if !after_digit {
                return None;
            }
            after_digit = false;
        } else if c.is_digit(base) {
            made.push(c);
            after_digit = true;
        } else {
            return None;
        }
    }
    Some(made).filter(|_| after_digit)
}

/// The outcome of reading an integer.
pub enum Read {
    /// No integer.
    Not,
    /// An integer beyond the bounds.
    Beyond,
    /// The integer.
    Is(i128),
}

/// `int(text, base)`.
pub fn read_int(text: &[char], base: u32) -> Read {
    let text = match plain(text) {
        Some(text) => text,
        None => return Read::Not,
    };
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(&text)),
    };
    let (base, prefixed, digits) = based(rest, base);
    let digits = match joined_digits(digits, base, prefixed) {
        Some(digits) if !digits.is_empty() => digits,
        _ => return Read::Not,
    };
    let value = digits.chars().try_fold(0i128, |all, c| {
        let digit = i128::from(c.to_digit(base)?);
        all.checked_mul(base.into())?.checked_add(digit)
    });
    match value {
        Some(value) => Read::Is(if negative { -value } else { value }),
        None => Read::Beyond,
    }
}

/// The base, whether a prefix named it, and the digits. Base 0 reads the prefix; without one it
/// takes decimal numbers that do not begin with 0.
fn based(text: &str, base: u32) -> (u32, bool, &str) {
    let lower = text.get(..2).map(str::to_ascii_lowercase);
    let named = match lower.as_deref() {
        Some("0x") => 16,
        Some("0o") => 8,
        Some("0b") => 2,
        _ => 0,
    };
    if named != 0 && (base == named || base == 0) {
        return (named, true, &text[2..]);
    }
    let zeros = text.trim_start_matches(|c| c == '0' || c == '_').is_empty();
    if base == 0 && text.starts_with('0') && !zeros {
        // No digit is left, so that the number is refused.
        return (10, false, "");
    }
    (if base == 0 { 10 } else { base }, false, text)
}

/// `float(text)`.
pub fn read_float(text: &[char]) -> Option<f64> {
    let text = plain(text)?.to_ascii_lowercase();
    let unsigned = text.strip_prefix(|c| c == '-' || c == '+').unwrap_or(&text);
    if !matches!(unsigned, "inf" | "infinity" | "nan") {
        let (number, exponent) = match unsigned.split_once('e') {
            Some((number, exponent)) => (number, Some(exponent)),
            None => (unsigned, None),
        };
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let digits = |held: &str| held.is_empty() || joined_digits(held, 10, false).is_some();
        let power =
            exponent.map(|held| held.strip_prefix(|c| c == '-' || c == '+').unwrap_or(held));
        let sound = digits(whole)
            && digits(part)
            && !(whole.is_empty() && part.is_empty())
            && power.map_or(true, |held| joined_digits(held, 10, false).is_some());
        if !sound {
            return None;
        }
    }
    text.replace('_', "").parse().ok()
}
