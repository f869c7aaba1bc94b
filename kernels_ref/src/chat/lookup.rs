//! Fields and items of values: `a.b`, `a['b']` and slices.

use std::rc::Rc;

use crate::chat::error::{ill_typed, refused, unsupported};
use crate::chat::key::key_of;
use crate::chat::number_text::{read_int, Read};
use crate::chat::printing::{quoted, spelled};
use crate::chat::state::Run;
use crate::chat::text::Text;
use crate::chat::unicode;
use crate::chat::value::{Range, Value};
use crate::error::Result;

const TEXT: &str = " capitalize casefold center count encode endswith expandtabs find format \
    format_map index isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric \
    isprintable isspace istitle isupper join ljust lower lstrip maketrans partition removeprefix \
    removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith \
    strip swapcase title translate upper zfill ";
const MAPPING: &str = " clear copy fromkeys get items keys pop popitem setdefault update values ";
const LIST: &str = " append clear copy count extend index insert pop remove reverse sort ";
const INTEGER: &str = " as_integer_ratio bit_count bit_length conjugate denominator from_bytes \
    imag numerator real to_bytes ";
const FLOAT: &str = " as_integer_ratio conjugate fromhex hex imag is_integer real ";

/// True if the language that the source runs on has a field of this name on such a value.
fn has_own_field(held: &Value, name: &str) -> bool {
    let known = match held {
        Value::Text(_) => TEXT,
        Value::Dict(_) => MAPPING,
        Value::List(_) => LIST,
        Value::Tuple(_) => " count index ",
        Value::Bool(_) | Value::Int(..) => INTEGER,
        Value::Float(..) => FLOAT,
        Value::Range(_) => " count index start step stop ",
        _ => return false,
    };
    name.starts_with("__") || known.split(' ').any(|field| !field.is_empty() && field == name)
}

/// The error of an undefined value that is needed.
pub fn missing<T>(what: &str) -> Result<T> {
    refused(what)
}

fn absent(held: &Value, key: &str) -> Value {
    Value::undefined(format!("'{}' has no element {}", held.kind(), key))
}

fn no_method<T>(kind: &str, name: &str) -> Result<T> {
    unsupported(format!("the method {}.{} used as a value", kind, name))
}

/// `held.name`: the value's own field first, then its item of that name.
pub fn attribute(held: &Value, name: &str, run: &Run) -> Result<Value> {
    match held {
        Value::Loop(_) if matches!(name, "cycle" | "changed") => no_method("loop", name),
        Value::Loop(at) => Ok(loop_field(&run.loops[*at], name)),
        Value::Namespace(at) => {
            let row = run.namespaces[*at].iter().find(|row| *row.0 == *name);
            let none =
                || Value::undefined(format!("the namespace has no attribute {}", quoted(name)));
            Ok(row.map_or_else(none, |row| row.1.clone()))
        }
        Value::Undefined(what) => missing(what),
        _ if has_own_field(held, name) => no_method(held.kind(), name),
        Value::Dict(_) => own_item(held, &Value::Text(Text::from_str(name, 0))),
        _ => Ok(absent(held, &spelled(&Value::unclaimed(name)))),
    }
}

fn loop_field(held: &crate::chat::state::Loop, name: &str) -> Value {
    let (count, at) = (held.items.len(), held.index0);
    match name {
        "index" => Value::count(at + 1),
        "index0" => Value::count(at),
        "revindex" => Value::int(count as i128 - at as i128),
        "revindex0" => Value::int(count as i128 - at as i128 - 1),
        "first" => Value::Bool(at == 0),
        "last" => Value::Bool(at + 1 == count),
        "length" => Value::count(count),
        "depth" => Value::int(1),
        "depth0" => Value::int(0),
        "previtem" => match at.checked_sub(1).and_then(|at| held.items.items().get(at)) {
            Some(item) => item.clone(),
            None => Value::undefined("there is no previous item"),
        },
        "nextitem" => match held.items.items().get(at + 1) {
            Some(item) => item.clone(),
            None => Value::undefined("there is no next item"),
        },
        _ => Value::undefined(format!("'loop' has no attribute {}", quoted(name))),
    }
}

/// `held[key]`: the item first, then the value's own field of that name.
pub fn item(held: &Value, key: &Value, run: &Run) -> Result<Value> {
    let name = match key {
        Value::Text(text) => Some(text.string()),
        _ => None,
    };
    match (held, &name) {
        (Value::Loop(_) | Value::Namespace(_), Some(name)) => return attribute(held, name, run),
        (Value::Undefined(what), _) => return missing(what),
        _ => {}
    }
    let found = own_item(held, key)?;
    match (&found, name) {
        (Value::Undefined(_), Some(name)) if has_own_field(held, &name) => {
            no_method(held.kind(), &name)
        }
        _ => Ok(found),
    }
}

fn own_item(held: &Value, key: &Value) -> Result<Value> {
    if let Value::Dict(dict) = held {
        let found = key_of(key)?.and_then(|key| dict.get(&key).cloned());
        return Ok(found.unwrap_or_else(|| absent(held, &spelled(key))));
    }
    let at = match key.as_int().and_then(|at| place(at, held)) {
        Some(at) => at,
        None => return Ok(absent(held, &spelled(key))),
    };
    Ok(match held {
        Value::Text(text) => Value::Text(text.slice(at..at + 1)?),
        Value::List(list) | Value::Tuple(list) => list.items()[at].clone(),
        Value::Range(range) => Value::int(range.nth(at)),
        _ => absent(held, &spelled(key)),
    })
}

/// A place from the front for one that may count from the end.
fn place(at: i128, held: &Value) -> Option<usize> {
    let len = match held {
        Value::Text(text) => text.len(),
        Value::List(list) | Value::Tuple(list) => list.len(),
        Value::Range(range) => range.len,
        _ => return None,
    };
    let at = usize::try_from(if at < 0 { at + len as i128 } else { at }).ok()?;
    Some(at).filter(|&at| at < len)
}

/// `held[start:stop:step]`.
pub fn cut(held: &Value, parts: &[Value; 3], run: &mut Run) -> Result<Value> {
    let len = match held {
        Value::Text(text) => text.len(),
        Value::List(list) | Value::Tuple(list) => list.len(),
        Value::Range(range) => range.len,
        Value::Undefined(what) => return missing(what),
        _ => return ill_typed("a slice", held.kind()),
    };
    if !matches!(held, Value::Range(_)) {
        run.budget.text(len as u64)?;
    }
    let bounds = Bounds::of(parts, len)?;
    Ok(match held {
        Value::Text(text) => Value::Text(bounds.of_text(text)?),
        Value::List(list) => Value::list(bounds.of_items(list.items())),
        Value::Tuple(list) => Value::tuple(bounds.of_items(list.items())),
        Value::Range(range) => Value::Range(Rc::new(Range {
            start: range.start + bounds.start * range.step,
            stop: range.start + bounds.stop * range.step,
            step: range.step * bounds.step,
            len: bounds.len,
        })),
        _ => absent(held, "slice"),
    })
}

struct Bounds {
    start: i128,
    stop: i128,
    step: i128,
    len: usize,
}

impl Bounds {
    /// Clipped to a length.
    fn of(parts: &[Value; 3], len: usize) -> Result<Bounds> {
        let whole = |part: &Value| match (part, part.as_int()) {
            (Value::None, _) => Ok(None),
            (_, Some(at)) => Ok(Some(at)),
            _ => ill_typed("a place", part.kind()),
        };
        let step = whole(&parts[2])?.unwrap_or(1);
        if step == 0 {
            return refused("ValueError: slice step cannot be zero");
        }
        let (lower, upper) = if step > 0 { (0, len as i128) } else { (-1, len as i128 - 1) };
        let clipped = |at: i128| (if at < 0 { at + len as i128 } else { at }).max(lower).min(upper);
        let (start, stop) = (whole(&parts[0])?, whole(&parts[1])?);
        let (first, last) = if step > 0 { (lower, upper) } else { (upper, lower) };
        let (start, stop) = (start.map_or(first, clipped), stop.map_or(last, clipped));
        let span = if step > 0 { stop - start } else { start - stop };
        let len = if span > 0 { (span - 1) / step.abs() + 1 } else { 0 };
        Ok(Bounds { start, stop, step, len: len as usize })
    }

    fn places(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        (0..self.len).map(move |at| (self.start + self.step * at as i128) as usize)
    }

    fn of_text(&self, text: &Text) -> Result<Text> {
        if self.step == 1 {
            let start = self.start as usize;
            return text.slice(start..start + self.len);
        }
        text.picked(self.places(), self.len)
    }

    fn of_items(&self, items: &[Value]) -> Vec<Value> {
        self.places().map(|at| items[at].clone()).collect()
    }
}

/// The field that filters look at: `a`, `a.b`, `a.0`, or the item itself.
pub struct Getter {
    parts: Vec<Value>,
    default: Option<Value>,
    folded: bool,
}

impl Getter {
    /// For an attribute, which may be absent or null for the item itself.
    pub fn plain(attribute: Option<&Value>) -> Result<Getter> {
        let parts = match attribute {
            None | Some(Value::None) => Vec::new(),
            Some(Value::Text(text)) => dotted(text)?,
            Some(other) => vec![other.clone()],
        };
        Ok(Getter { parts, default: None, folded: false })
    }

    /// With a value for what is missing.
    pub fn or(mut self, default: Option<Value>) -> Getter {
        self.default = default.filter(|value| !matches!(value, Value::None));
        self
    }

    /// Texts in lower case.
    pub fn folded(mut self, folded: bool) -> Getter {
        self.folded = folded;
        self
    }

    /// The field of one item.
    pub fn get(&self, value: &Value, run: &Run) -> Result<Value> {
        let mut value = value.clone();
        for part in &self.parts {
            value = item(&value, part, run)?;
            if let (Value::Undefined(_), Some(default)) = (&value, &self.default) {
                value = default.clone();
            }
        }
        Ok(match value {
            Value::Text(text) if self.folded => Value::Text(super::text_operations::lower(&text)),
            value => value,
        })
    }
}

fn dotted(text: &Text) -> Result<Vec<Value>> {
    let part = |piece: &[char]| {
        if piece.is_empty() || !piece.iter().all(|&c| unicode::is_digit(c)) {
            return Ok(Value::Text(Text::of(piece.to_vec(), 0)));
        }
        match read_int(piece, 10) {
            Read::Is(value) => Ok(Value::int(value)),
            Read::Beyond => Ok(Value::int(i128::MAX)),
            Read::Not => refused("ValueError: invalid literal for int() with base 10"),
        }
    };
    text.characters().split(|&c| c == '.').map(part).collect()
}
