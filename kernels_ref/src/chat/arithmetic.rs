//! Arithmetic of templates, with results that stay within the bounds.

use crate::chat::decimal::divided;
use crate::chat::error::{beyond, ill_typed, refused, unsupported};
use crate::chat::limits;
use crate::chat::lookup::missing;
use crate::chat::state::Run;
use crate::chat::text::{room, Text};
use crate::chat::text_operations::escaped;
use crate::chat::value::Value;
use crate::error::Result;

/// An operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Sub,
    Mul,
    Div,
    FloorDiv,
    Mod,
    Pow,
}

impl Operator {
    /// By its sign.
    pub fn by_sign(sign: &str) -> Option<Operator> {
        Some(match sign {
            "-" => Operator::Sub,
            "*" => Operator::Mul,
            "/" => Operator::Div,
            "//" => Operator::FloorDiv,
            "%" => Operator::Mod,
            "**" => Operator::Pow,
            _ => return None,
        })
    }
}

fn float_of(value: &Value) -> Option<f64> {
    match value {
        Value::Float(held, _) => Some(*held),
        value => value.as_int().map(|held| held as f64),
    }
}

fn whole(value: Option<i128>, run: &Run) -> Result<Value> {
    run.budget.integer(value).map(Value::int)
}

fn no_operation<T>(left: &Value, right: &Value) -> Result<T> {
    match (left, right) {
        (Value::Undefined(what), _) | (_, Value::Undefined(what)) => missing(what),
        _ => ill_typed("an operation", &format!("{} and {}", left.kind(), right.kind())),
    }
}

/// `left + right`: numbers, texts, lists.
pub fn add(left: &Value, right: &Value, run: &mut Run) -> Result<Value> {
    match (left, right) {
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
            run.budget.charge((a.len() + b.len()) as u64)?;
            let items = a.items().iter().chain(b.items()).cloned().collect();
            Ok(if matches!(left, Value::List(_)) {
                Value::list(items)
            } else {
                Value::tuple(items)
            })
        }
        (Value::List(a) | Value::Tuple(a), Value::List(b) | Value::Tuple(b)) => {
            run.budget.charge((a.len() + b.len()) as u64)?;
            no_operation(left, right)
        }
        (Value::Text(a), Value::Text(b)) => {
            run.budget.text(a.len() as u64 + 5 * b.len() as u64)?;
            add_texts(a, b).map(Value::Text)
        }
        _ => match (left.as_int(), right.as_int()) {
            (Some(a), Some(b)) => whole(a.checked_add(b), run),
            _ => match (float_of(left), float_of(right)) {
                (Some(a), Some(b)) => Ok(Value::float(a + b)),
                _ => no_operation(left, right),
            },
        },
    }
}

/// A text marked `safe` writes the other side with HTML escapes.
fn add_texts(a: &Text, b: &Text) -> Result<Text> {
    if !a.is_marked() && !b.is_marked() {
        return Text::joined(&[a.clone(), b.clone()]);
    }
    let side = |text: &Text| if text.is_marked() { text.clone() } else { escaped(text) };
    Ok(Text::joined(&[side(a), side(b)])?.with_mark(true))
}

/// - * / // % ** with bounded results.
pub fn arithmetic(op: Operator, left: &Value, right: &Value, run: &mut Run) -> Result<Value> {
    if op == Operator::Mod && matches!(left, Value::Text(_)) {
        return unsupported("% on a text");
    }
    if matches!(left, Value::View(..)) || matches!(right, Value::View(..)) {
        return unsupported("arithmetic on a view of an object");
    }
    if op == Operator::Mul {
        if let Some(value) = multiplied(left, right, run)? {
            return Ok(value);
        }
    }
    if op == Operator::Pow {
        bound_power(left, right)?;
    }
    match (left.as_int(), right.as_int()) {
        (Some(a), Some(b)) => integers(op, a, b, run),
        _ => match (float_of(left), float_of(right)) {
            (Some(a), Some(b)) => floats(op, a, b).map(Value::float),
            _ => no_operation(left, right),
        },
    }
}

/// A text, list or tuple so many times; None for numbers.
fn multiplied(left: &Value, right: &Value, run: &mut Run) -> Result<Option<Value>> {
    let mut made = None;
    for (held, times) in [(left, right), (right, left)] {
        let len = match held {
            Value::Text(text) if text.is_marked() => return unsupported("* on a text marked safe"),
            Value::Text(text) => text.len(),
            Value::List(list) | Value::Tuple(list) => list.len(),
            _ => continue,
        };
        if let Some(times) = times.as_int() {
            let size = (len as i128 * times.max(0)).min(u64::MAX.into()) as u64;
            run.budget.text(size)?;
            if !matches!(held, Value::Text(_)) {
                run.budget.charge(size)?;
            }
            // An empty one stays empty, however often.
            let times = if len == 0 { 0 } else { times.max(0) as usize };
            made = Some(match held {
                Value::Text(text) => Value::Text(text.repeated(times)?),
                Value::List(list) => Value::list(repeated(list.items(), times)?),
                Value::Tuple(list) => Value::tuple(repeated(list.items(), times)?),
                _ => continue,
            });
        }
    }
    Ok(made)
}

fn repeated(items: &[Value], times: usize) -> Result<Vec<Value>> {
    let mut made = room(items.len() * times)?;
    (0..times).for_each(|_| made.extend_from_slice(items));
    Ok(made)
}

fn bound_power(left: &Value, right: &Value) -> Result<()> {
    let inexact = matches!(left, Value::Float(..)) || matches!(right, Value::Float(..));
    if inexact || right.as_int().map_or(false, |right| right < 0) {
        // Its last bit is the C library's, which differs between machines.
        return unsupported("a power that is no integer");
    }
    match (left.as_int(), right.as_int()) {
        (Some(left), Some(right)) if left.abs() > 1 && right > 64 => {
            beyond("size of an integer", "more", limits::INTEGER)
        }
        _ => Ok(()),
    }
}

fn integers(op: Operator, a: i128, b: i128, run: &Run) -> Result<Value> {
    let by_zero = b == 0 && matches!(op, Operator::Div | Operator::FloorDiv | Operator::Mod);
    if by_zero {
        return refused("ZeroDivisionError: division by zero");
    }
    match op {
        Operator::Sub => whole(a.checked_sub(b), run),
        Operator::Mul => whole(a.checked_mul(b), run),
        Operator::Div => Ok(Value::float(divided(a, b))),
        Operator::FloorDiv => whole(Some((a - floor_mod(a, b)) / b), run),
        Operator::Mod => whole(Some(floor_mod(a, b)), run),
        Operator::Pow => whole(power(a, b), run),
    }
}

/// The rest that has the divisor's sign.
fn floor_mod(a: i128, b: i128) -> i128 {
    let rest = a % b;
    if rest != 0 && (rest < 0) != (b < 0) {
        rest + b
    } else {
        rest
    }
}

fn power(a: i128, b: i128) -> Option<i128> {
    match a {
        0 | 1 => Some(if b == 0 { 1 } else { a }),
        -1 => Some(if b % 2 == 0 { 1 } else { -1 }),
        _ => a.checked_pow(u32::try_from(b).ok()?),
    }
}

fn floats(op: Operator, a: f64, b: f64) -> Result<f64> {
    if b == 0.0 && !matches!(op, Operator::Sub | Operator::Mul) {
        return refused("ZeroDivisionError: division by zero");
    }
    Ok(match op {
        Operator::Sub => a - b,
        Operator::Mul => a * b,
        Operator::Div => a / b,
        Operator::FloorDiv => floor_division(a, b).0,
        Operator::Mod | Operator::Pow => floor_division(a, b).1,
    })
}

/// Quotient and rest as the source's language has them: the rest has the divisor's sign.
fn floor_division(a: f64, b: f64) -> (f64, f64) {
    let mut rest = a % b;
    let mut quotient = (a - rest) / b;
    if rest == 0.0 {
        rest = 0f64.copysign(b);
    } else if (b < 0.0) != (rest < 0.0) {
        rest += b;
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return (0f64.copysign(a / b), rest);
    }
    let floor = quotient.floor();
    (if quotient - floor > 0.5 { floor + 1.0 } else { floor }, rest)
}

/// `-value`, `+value`.
pub fn signed(value: &Value, negative: bool) -> Result<Value> {
    match (value, value.as_int()) {
        (_, Some(held)) => Ok(Value::int(if negative { -held } else { held })),
        (Value::Float(held, _), _) => Ok(Value::float(if negative { -held } else { *held })),
        (Value::Undefined(what), _) => missing(what),
        _ => ill_typed("a sign", value.kind()),
    }
}

/// `value % by` of a test.
pub fn modulo(value: &Value, by: &Value, run: &mut Run) -> Result<Value> {
    arithmetic(Operator::Mod, value, by, run)
}
