//! What identifies a value as a key: equal values have equal keys, as 1, 1.0 and true.

use crate::chat::error::unsupported;
use crate::chat::text::Text;
use crate::chat::value::{Function, Value};
use crate::error::Result;

/// The hashed form of a value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    None,
    Undefined,
    Int(i128),
    /// Bits of a float that equals no integer.
    Float(u64),
    Text(Text),
    Tuple(Vec<Key>),
    /// Length, first item and step, as far as they tell ranges apart.
    Range(usize, i128, i128),
    Namespace(usize),
    Loop(usize),
    Macro(u32, usize),
    Function(Function),
    Lazy(usize),
}

/// The key of a value; None where it cannot be one (a list, an object). Refused: tuples within
/// tuples, which the source hashes part by part, and views.
pub fn key_of(value: &Value) -> Result<Option<Key>> {
    match value {
        Value::View(..) => unsupported("a view of an object as a key"),
        Value::Tuple(list) => {
            let nested = |part: &Value| matches!(part, Value::Tuple(_) | Value::View(..));
            if list.items().iter().any(nested) {
                return unsupported("a tuple within a tuple as a key");
            }
            Ok(list.items().iter().map(plain_key).collect::<Option<Vec<Key>>>().map(Key::Tuple))
        }
        _ => Ok(plain_key(value)),
    }
}

fn plain_key(value: &Value) -> Option<Key> {
    Some(match value {
        Value::Undefined(_) => Key::Undefined,
        Value::None => Key::None,
        Value::Bool(held) => Key::Int(i128::from(*held)),
        Value::Int(held, _) => Key::Int(*held),
        Value::Float(held, _) => float_key(*held),
        Value::Text(text) => Key::Text(text.clone()),
        Value::Range(range) => {
            let first = if range.len > 0 { range.start } else { 0 };
            Key::Range(range.len, first, if range.len > 1 { range.step } else { 0 })
        }
        Value::Namespace(at) => Key::Namespace(*at),
        Value::Loop(at) => Key::Loop(*at),
        Value::Macro(node, scope) => Key::Macro(*node, *scope),
        Value::Function(function) => Key::Function(*function),
        Value::Lazy(lazy) => Key::Lazy(std::rc::Rc::as_ptr(lazy) as usize),
        Value::List(_) | Value::Tuple(_) | Value::Dict(_) | Value::View(..) => return None,
    })
}

fn float_key(value: f64) -> Key {
    // 2^100 is far beyond every integer here.
    if value.trunc() == value && value.abs() < (1u128 << 100) as f64 {
        Key::Int(value as i128)
    } else {
        Key::Float(value.to_bits())
    }
}
