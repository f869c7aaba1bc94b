//! Rounding of numbers to decimal places, exact.

use crate::chat::error::refused;
use crate::error::Result;

/// `round(value, places)` of a float: the exact decimal value, half to even, read back.
pub fn round_float(value: f64, places: i32) -> Result<f64> {
    if !value.is_finite() {
        return Ok(value);
    }
    // 1074 places hold every float exactly, so the compiler's library rounds nothing here.
    let exact = format!("{:.1074}", value.abs());
    let (whole, part) = exact.split_once('.').unwrap_or((&exact, ""));
    let digits: Vec<u8> = whole.bytes().chain(part.bytes()).map(|byte| byte - b'0').collect();
    let kept = whole.len() as i64 + i64::from(places);
    let rounded = match usize::try_from(kept) {
        Err(_) => "0".to_string(),
        Ok(kept) if kept >= digits.len() => exact,
        Ok(kept) => format!("{}e{}", cut(&digits, kept), -i64::from(places)),
    };
    let made: f64 = rounded.parse().unwrap_or(0.0);
    if made.is_infinite() {
        return refused("OverflowError: the rounded value is no finite number");
    }
    Ok(if value.is_sign_negative() { -made } else { made })
}

/// The first `kept` digits as an integer, rounded half to even by the others.
fn cut(digits: &[u8], kept: usize) -> String {
    let (head, tail) = digits.split_at(kept);
    let half = tail.first().map_or(false, |&digit| digit >= 5);
    let tie = tail.first() == Some(&5) && tail[1..].iter().all(|&digit| digit == 0);
    let odd = head.last().map_or(false, |&digit| digit % 2 == 1);
    let mut head = head.to_vec();
    if half && (!tie || odd) {
        increase(&mut head);
    }
    let text: String = head.iter().map(|&digit| char::from(b'0' + digit)).collect();
    if text.is_empty() {
        "0".to_string()
    } else {
        text
    }
}

fn increase(digits: &mut Vec<u8>) {
    for digit in digits.iter_mut().rev() {
        if *digit < 9 {
            *digit += 1;
            return;
        }
        *digit = 0;
    }
    digits.insert(0, 1);
}

/// `round(value, places)` of an integer.
pub fn round_int(value: i128, places: i32) -> i128 {
    if places >= 0 {
        return value;
    }
    // Beyond 10^30 every integer here is nearer to zero.
    let unit = match 10i128.checked_pow(places.unsigned_abs()) {
        Some(unit) if places >= -30 => unit,
        _ => return 0,
    };
    let (down, rest) = (value.div_euclid(unit), value.rem_euclid(unit));
    let up = 2 * rest > unit || (2 * rest == unit && down % 2 != 0);
    (down + i128::from(up)) * unit
}

/// `left / right` of integers below 2^120, rounded once.
pub fn divided(left: i128, right: i128) -> f64 {
    let (a, b) = (left.unsigned_abs(), right.unsigned_abs());
    let bits = |value: u128| 128 - value.leading_zeros() as i32;
    // The quotient gets at least 56 bits, two more than a float's and a sticky one.
    let shift = (bits(b) + 56 - bits(a)).max(0);
    let (quotient, rest) = ((a << shift) / b, (a << shift) % b);
    let sticky = quotient << 1 | u128::from(rest != 0);
    let power = f64::from_bits(((1023 - shift - 1) as u64) << 52);
    let size = sticky as f64 * power;
    if (left < 0) != (right < 0) {
        -size
    } else {
        size
    }
}
