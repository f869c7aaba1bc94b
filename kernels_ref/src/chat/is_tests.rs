//! What follows `is` in a condition.

use crate::chat::arithmetic::modulo;
use crate::chat::compare::{self, compared, equal, Comparison};
use crate::chat::error::{ill_typed, refused};
use crate::chat::printing::{quoted, to_text};
use crate::chat::state::Run;
use crate::chat::unicode;
use crate::chat::value::Value;
use crate::error::Result;

const PLAIN: &str = " boolean defined even false float integer iterable lower mapping none number \
    odd sequence string true undefined upper ";

fn comparison(name: &str) -> Option<Comparison> {
    Some(match name {
        "eq" | "==" | "equalto" => Comparison::Eq,
        "ne" | "!=" => Comparison::Ne,
        "gt" | ">" | "greaterthan" => Comparison::Gt,
        "ge" | ">=" => Comparison::Ge,
        "lt" | "<" | "lessthan" => Comparison::Lt,
        "le" | "<=" => Comparison::Le,
        "in" => Comparison::In,
        _ => return None,
    })
}

fn is_plain(name: &str) -> bool {
    PLAIN.split(' ').any(|known| !known.is_empty() && known == name)
}

/// True if there is a test of this name.
pub fn is_known(name: &str) -> bool {
    is_plain(name) || name == "divisibleby" || comparison(name).is_some()
}

/// A test by a name that is itself a value.
pub fn by_value(name: &Value, value: &Value, args: &[Value], run: &mut Run) -> Result<Value> {
    match name {
        Value::Text(name) => run_test(&name.string(), value, args, run).map(Value::Bool),
        other => refused(format!("KeyError: a test named by {}", other.kind())),
    }
}

/// `value is name(args)`.
pub fn run_test(name: &str, value: &Value, args: &[Value], run: &mut Run) -> Result<bool> {
    let op = comparison(name);
    if let Some(other) = args.first() {
        compare::weigh(op.unwrap_or(Comparison::Eq), value, other, run)?;
    }
    match (op, args) {
        (Some(op), [other]) => compared(op, value, other, run),
        (None, [by]) if name == "divisibleby" => {
            Ok(equal(&modulo(value, by, run)?, &Value::int(0)))
        }
        (None, []) if is_plain(name) => plain(name, value, run),
        _ if is_known(name) => {
            refused(format!("TypeError: the arguments of the test {}", quoted(name)))
        }
        _ => refused(format!("KeyError: {}", quoted(name))),
    }
}

fn plain(name: &str, value: &Value, run: &mut Run) -> Result<bool> {
    Ok(match name {
        "boolean" => matches!(value, Value::Bool(_)),
        "defined" => !matches!(value, Value::Undefined(_)),
        "undefined" => matches!(value, Value::Undefined(_)),
        "none" => matches!(value, Value::None),
        "true" => matches!(value, Value::Bool(true)),
        "false" => matches!(value, Value::Bool(false)),
        "integer" => matches!(value, Value::Int(..)),
        "float" => matches!(value, Value::Float(..)),
        "number" => value.as_int().is_some() || matches!(value, Value::Float(..)),
        "string" => matches!(value, Value::Text(_)),
        "mapping" => matches!(value, Value::Dict(_)),
        "sequence" => is_sequence(value),
        "iterable" => is_sequence(value) || matches!(value, Value::View(..) | Value::Lazy(_)),
        "odd" => is_rest(value, 1, run)?,
        "even" => is_rest(value, 0, run)?,
        "lower" => has_case(value, unicode::is_lower_text, run)?,
        _ => has_case(value, unicode::is_upper_text, run)?,
    })
}

fn is_sequence(value: &Value) -> bool {
    matches!(
        value,
        Value::Undefined(_)
            | Value::Text(_)
            | Value::List(_)
            | Value::Tuple(_)
            | Value::Dict(_)
            | Value::Range(_)
    )
}

fn is_rest(value: &Value, rest: i128, run: &mut Run) -> Result<bool> {
    Ok(equal(&modulo(value, &Value::int(2), run)?, &Value::int(rest)))
}

fn has_case(value: &Value, holds: fn(&[char]) -> bool, run: &mut Run) -> Result<bool> {
    let plain = value.as_int().is_some()
        || matches!(value, Value::None | Value::Undefined(_) | Value::Text(_) | Value::Float(..));
    if !plain {
        return ill_typed("the case", value.kind());
    }
    Ok(holds(to_text(value, run)?.characters()))
}
