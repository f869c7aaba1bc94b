//! Equality, order and membership as Python has them.

use std::cmp::Ordering;
use std::rc::Rc;

use crate::chat::error::{ill_typed, unsupported};
use crate::chat::key::key_of;
use crate::chat::lazy::Walk;
use crate::chat::lookup::missing;
use crate::chat::state::Run;
use crate::chat::text_operations::find;
use crate::chat::value::{Dict, Value, ViewKind};
use crate::error::Result;

/// An operator of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Eq,
    Ne,
    Gt,
    Ge,
    Lt,
    Le,
    In,
    NotIn,
}

impl Comparison {
    /// By the name that the compiled form has for it.
    pub fn by_name(name: &str) -> Option<Comparison> {
        Some(match name {
            "eq" => Comparison::Eq,
            "ne" => Comparison::Ne,
            "gt" => Comparison::Gt,
            "gteq" => Comparison::Ge,
            "lt" => Comparison::Lt,
            "lteq" => Comparison::Le,
            "in" => Comparison::In,
            "notin" => Comparison::NotIn,
            _ => return None,
        })
    }

    fn holds(self, order: Ordering) -> bool {
        match self {
            Comparison::Gt => order == Ordering::Greater,
            Comparison::Ge => order != Ordering::Less,
            Comparison::Lt => order == Ordering::Less,
            Comparison::Le => order != Ordering::Greater,
            Comparison::Eq => order == Ordering::Equal,
            Comparison::Ne => order != Ordering::Equal,
            Comparison::In | Comparison::NotIn => false,
        }
    }
}

/// Before two values are compared part by part.
pub fn weigh(op: Comparison, left: &Value, right: &Value, run: &mut Run) -> Result<()> {
    for side in [left, right] {
        if !matches!(side, Value::View(..)) {
            run.budget.weigh(side)?;
        }
    }
    let searched = matches!(op, Comparison::In | Comparison::NotIn);
    let view = |side: &Value| matches!(side, Value::View(..));
    if view(left) || (view(right) && !searched) {
        return unsupported("a comparison of a view of an object");
    }
    Ok(())
}

/// `left op right`, already weighed.
pub fn compared(op: Comparison, left: &Value, right: &Value, run: &mut Run) -> Result<bool> {
    match op {
        Comparison::Eq => Ok(equal(left, right)),
        Comparison::Ne => Ok(!equal(left, right)),
        Comparison::In => contains(left, right, run),
        Comparison::NotIn => contains(left, right, run).map(|found| !found),
        _ => ordered(op, left, right),
    }
}

/// A number as comparisons see it.
enum Number {
    Int(i128),
    Float(f64),
}

fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Float(held, _) => Some(Number::Float(*held)),
        value => value.as_int().map(Number::Int),
    }
}

/// The exact order of two numbers; None with a NaN.
fn numbers(left: &Number, right: &Number) -> Option<Ordering> {
    match (left, right) {
        (Number::Int(a), Number::Int(b)) => Some(a.cmp(b)),
        (Number::Float(a), Number::Float(b)) => a.partial_cmp(b),
        (Number::Int(a), Number::Float(b)) => against(*a, *b),
        (Number::Float(a), Number::Int(b)) => against(*b, *a).map(Ordering::reverse),
    }
}

fn against(whole: i128, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    // The conversion saturates, far beyond every integer here.
    let order = whole.cmp(&(float.trunc() as i128));
    let rest = 0.0.partial_cmp(&float.fract())?;
    Some(if order == Ordering::Equal { rest } else { order })
}

/// `left == right`.
pub fn equal(left: &Value, right: &Value) -> bool {
    if let (Some(a), Some(b)) = (number(left), number(right)) {
        return numbers(&a, &b) == Some(Ordering::Equal);
    }
    match (left, right) {
        (Value::Undefined(_), Value::Undefined(_)) | (Value::None, Value::None) => true,
        (Value::Text(a), Value::Text(b)) => a == b,
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
            Rc::ptr_eq(a, b) || {
                let pairs = a.items().iter().zip(b.items());
                a.len() == b.len() && pairs.into_iter().all(|(a, b)| equal(a, b))
            }
        }
        (Value::Dict(a), Value::Dict(b)) => Rc::ptr_eq(a, b) || same_rows(a, b, true),
        (Value::View(ViewKind::Keys, a), Value::View(ViewKind::Keys, b)) => same_rows(a, b, false),
        (Value::View(ViewKind::Items, a), Value::View(ViewKind::Items, b)) => same_rows(a, b, true),
        (Value::Range(a), Value::Range(b)) => {
            let first = a.len == 0 || a.start == b.start;
            a.len == b.len && first && (a.len < 2 || a.step == b.step)
        }
        (Value::Lazy(a), Value::Lazy(b)) => Rc::ptr_eq(a, b),
        (Value::Namespace(a), Value::Namespace(b)) | (Value::Loop(a), Value::Loop(b)) => a == b,
        (Value::Macro(a, scope), Value::Macro(b, other)) => a == b && scope == other,
        (Value::Function(a), Value::Function(b)) => a == b,
        _ => false,
    }
}

fn same_rows(a: &Dict, b: &Dict, values: bool) -> bool {
    a.len() == b.len()
        && a.by_key()
            .zip(b.by_key())
            .all(|((key, held), (other, value))| key == other && (!values || equal(held, value)))
}

/// `<`, `<=`, `>` and `>=`.
pub fn ordered(op: Comparison, left: &Value, right: &Value) -> Result<bool> {
    if let (Some(a), Some(b)) = (number(left), number(right)) {
        return Ok(numbers(&a, &b).map_or(false, |order| op.holds(order)));
    }
    match (left, right) {
        (Value::Undefined(what), _) | (_, Value::Undefined(what)) => missing(what),
        (Value::Text(a), Value::Text(b)) => Ok(op.holds(a.cmp(b))),
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
            match a.items().iter().zip(b.items()).find(|(a, b)| !equal(a, b)) {
                Some((a, b)) => ordered(op, a, b),
                None => Ok(op.holds(a.len().cmp(&b.len()))),
            }
        }
        _ => ill_typed("an order", &format!("{} and {}", left.kind(), right.kind())),
    }
}

/// `value in held`.
pub fn contains(value: &Value, held: &Value, run: &mut Run) -> Result<bool> {
    match (held, value) {
        (Value::Text(held), Value::Text(value)) => {
            Ok(find(held.characters(), value.characters(), 0).is_some())
        }
        (Value::List(list) | Value::Tuple(list), _) => {
            Ok(list.items().iter().any(|item| equal(item, value)))
        }
        (Value::Dict(dict) | Value::View(ViewKind::Keys, dict), _) => match key_of(value)? {
            Some(key) => Ok(dict.get(&key).is_some()),
            None => ill_typed("a key", value.kind()),
        },
        (Value::View(ViewKind::Values, dict), _) => {
            Ok(dict.rows().iter().any(|row| equal(&row.1, value)))
        }
        (Value::View(ViewKind::Items, dict), Value::Tuple(pair)) => match pair.items() {
            [key, value] => match key_of(key)? {
                Some(key) => Ok(dict.get(&key).map_or(false, |held| equal(held, value))),
                None => ill_typed("a key", key.kind()),
            },
            _ => Ok(false),
        },
        (Value::View(ViewKind::Items, _), _) | (Value::Undefined(_), _) => Ok(false),
        (Value::Range(range), _) => Ok(match number(value) {
            Some(Number::Int(value)) => range.holds(value),
            Some(Number::Float(value)) => value.fract() == 0.0 && range.holds(value as i128),
            None => false,
        }),
        (Value::Lazy(_), _) => {
            let mut walk = Walk::over(held)?;
            while let Some(item) = walk.next(run)? {
                if equal(&item, value) {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        _ => ill_typed("a search", held.kind()),
    }
}
