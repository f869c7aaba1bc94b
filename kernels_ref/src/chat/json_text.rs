//! JSON as Python's `json.dumps` writes it.

use crate::chat::compare::{ordered, Comparison};
use crate::chat::error::ill_typed;
use crate::chat::number_text::float_text;
use crate::chat::order_filters::{no_order, sorted};
use crate::chat::value::Value;
use crate::error::Result;

/// How the text is laid out.
pub struct Layout {
    /// Escapes for everything beyond ASCII.
    pub ascii: bool,
    /// What each level is moved by, on lines of its own; None for one line.
    pub indent: Option<String>,
    /// Between items.
    pub item: String,
    /// Between key and value.
    pub key: String,
    /// Keys in order.
    pub sorted: bool,
}

/// Append the JSON of a value.
pub fn write_json(value: &Value, layout: &Layout, level: usize, out: &mut String) -> Result<()> {
    match value {
        Value::Text(text) => write_string(text.characters(), layout.ascii, out),
        Value::List(list) | Value::Tuple(list) => {
            let items = list.items().iter();
            wrapped(items, ('[', ']'), layout, level, out, |item, out| {
                write_json(item, layout, level + 1, out)
            })?;
        }
        Value::Dict(dict) => {
            let mut rows: Vec<&(Value, Value)> = dict.rows().iter().collect();
            if layout.sorted {
                rows = sorted(rows, |a, b| ordered(Comparison::Lt, &a.0, &b.0))
                    .or_else(|_| no_order())?;
            }
            wrapped(rows.into_iter(), ('{', '}'), layout, level, out, |(key, held), out| {
                write_key(key, layout.ascii, out)?;
                out.push_str(&layout.key);
                write_json(held, layout, level + 1, out)
            })?;
        }
        other => match scalar(other) {
            Some(text) => out.push_str(&text),
            None => return ill_typed("JSON", other.kind()),
        },
    }
    Ok(())
}

fn wrapped<T>(
    items: impl ExactSizeIterator<Item = T>,
    around: (char, char),
    layout: &Layout,
    level: usize,
    out: &mut String,
    mut write: impl FnMut(T, &mut String) -> Result<()>,
) -> Result<()> {
    let empty = items.len() == 0;
    out.push(around.0);
    for (at, item) in items.enumerate() {
        out.push_str(if at > 0 { &layout.item } else { "" });
        new_line(layout, level + 1, out);
        write(item, out)?;
    }
    if !empty {
        new_line(layout, level, out);
    }
    out.push(around.1);
    Ok(())
}

fn new_line(layout: &Layout, level: usize, out: &mut String) {
    if let Some(indent) = &layout.indent {
        out.push('\n');
        (0..level).for_each(|_| out.push_str(indent));
    }
}

fn scalar(value: &Value) -> Option<String> {
    Some(match value {
        Value::None => "null".to_string(),
        Value::Bool(held) => held.to_string(),
        Value::Int(held, _) => held.to_string(),
        Value::Float(held, _) => float_text(*held, "Infinity", "NaN"),
        _ => return None,
    })
}

fn write_key(key: &Value, ascii: bool, out: &mut String) -> Result<()> {
    match (key, scalar(key)) {
        (Value::Text(text), _) => write_string(text.characters(), ascii, out),
        (_, Some(text)) => out.push_str(&format!("\"{}\"", text)),
        _ => return ill_typed("a key of JSON", key.kind()),
    }
    Ok(())
}

fn write_string(text: &[char], ascii: bool, out: &mut String) {
    out.push('"');
    for &c in text {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if c < ' ' || (ascii && c > '~') => {
                c.encode_utf16(&mut [0; 2])
                    .iter()
                    .for_each(|unit| out.push_str(&format!("\\u{:04x}", unit)));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
