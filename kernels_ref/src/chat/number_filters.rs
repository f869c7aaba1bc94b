//! Filters on numbers.

use crate::chat::arguments::{integer, Arguments};
use crate::chat::decimal::{round_float, round_int};
use crate::chat::error::{ill_typed, refused, unsupported};
use crate::chat::lookup::missing;
use crate::chat::number_text::{read_float, read_int, Read};
use crate::chat::state::Run;
use crate::chat::value::Value;
use crate::error::Result;

const MAX_PRECISION: i128 = 300;
/// Powers of ten up to this one are floats, so that a division by them is rounded once.
const EXACT_POWER: i128 = 22;

/// `abs`.
pub fn absolute(value: &Value, given: &Arguments, _: &mut Run) -> Result<Value> {
    given.bound([])?;
    match (value, value.as_int()) {
        (_, Some(held)) => Ok(Value::int(held.abs())),
        (Value::Float(held, _), _) => Ok(Value::float(held.abs())),
        _ => ill_typed("the size", value.kind()),
    }
}

/// An integer without the places behind the point; None where there is none.
fn truncated(value: f64, run: &Run) -> Option<Result<Value>> {
    if !value.is_finite() {
        return None;
    }
    let whole = Some(value.trunc() as i128).filter(|_| value.abs() < (1u128 << 100) as f64);
    Some(run.budget.integer(whole).map(Value::int))
}

/// `int`.
pub fn to_int(value: &Value, given: &Arguments, run: &mut Run) -> Result<Value> {
    let [default, base] = given.bound(["default", "base"])?;
    let base = match base {
        None => Some(10),
        Some(base) => base.as_int().filter(|&b| b == 0 || (2..=36).contains(&b)).map(|b| b as u32),
    };
    let read = match (value, value.as_int()) {
        (Value::Undefined(what), _) => return missing(what),
        (_, Some(held)) => Some(run.budget.integer(Some(held)).map(Value::int)),
        (Value::Float(held, _), _) => truncated(*held, run),
        (Value::Text(text), _) => {
            match base.map_or(Read::Not, |base| read_int(text.characters(), base)) {
                Read::Is(held) => Some(run.budget.integer(Some(held)).map(Value::int)),
                Read::Beyond => Some(run.budget.integer(None).map(Value::int)),
                Read::Not => read_float(text.characters()).and_then(|held| truncated(held, run)),
            }
        }
        _ => None,
    };
    read.unwrap_or_else(|| Ok(default.unwrap_or_else(|| Value::int(0))))
}

/// `float`.
pub fn to_float(value: &Value, given: &Arguments, _: &mut Run) -> Result<Value> {
    let [default] = given.bound(["default"])?;
    let read = match (value, value.as_int()) {
        (Value::Undefined(what), _) => return missing(what),
        (_, Some(held)) => Some(held as f64),
        (Value::Float(held, _), _) => Some(*held),
        (Value::Text(text), _) => read_float(text.characters()),
        _ => None,
    };
    Ok(read.map(Value::float).unwrap_or_else(|| default.unwrap_or_else(|| Value::float(0.0))))
}

/// `round`.
pub fn round(value: &Value, given: &Arguments, _: &mut Run) -> Result<Value> {
    let [precision, method] = given.bound(["precision", "method"])?;
    let up = match &method {
        None => None,
        Some(Value::Text(text)) if text.is("common") => None,
        Some(Value::Text(text)) if text.is("ceil") => Some(true),
        Some(Value::Text(text)) if text.is("floor") => Some(false),
        Some(_) => return refused("ValueError: method must be common, ceil or floor"),
    };
    let places = integer(precision, 0)?;
    if value.as_int().is_none() && !matches!(value, Value::Float(..)) {
        return ill_typed("a rounding", value.kind());
    }
    if places.abs() > MAX_PRECISION {
        return refused("ValueError: precision beyond a float's");
    }
    if up.is_some() && !(0..=EXACT_POWER).contains(&places) {
        return unsupported("ceil and floor by an inexact power of ten");
    }
    match (value, value.as_int(), up) {
        (_, Some(held), None) => Ok(Value::int(round_int(held, places as i32))),
        (_, Some(held), Some(_)) => Ok(Value::float(held as f64)),
        (Value::Float(held, _), _, None) => round_float(*held, places as i32).map(Value::float),
        (Value::Float(held, _), _, Some(up)) => {
            let unit = 10i128.pow(places as u32) as f64;
            let scaled = held * unit;
            if !scaled.is_finite() {
                return refused("OverflowError: the rounded value is no finite number");
            }
            let whole = if up { scaled.ceil() } else { scaled.floor() };
            // An integer has no zero below zero.
            Ok(Value::float((whole + 0.0) / unit))
        }
        _ => ill_typed("a rounding", value.kind()),
    }
}
