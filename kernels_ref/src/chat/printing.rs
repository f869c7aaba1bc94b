//! What a template prints for a value: Python's `str`, and `repr` within lists and objects.

use crate::chat::error::unsupported;
use crate::chat::number_text::float_text;
use crate::chat::state::Run;
use crate::chat::text::{Text, CONTENT, TEMPLATE};
use crate::chat::unicode;
use crate::chat::value::{Origin, Value};
use crate::error::Result;

/// The text of a value, with owners.
pub fn to_text(value: &Value, run: &mut Run) -> Result<Text> {
    let owner = match value {
        Value::Text(text) => return Ok(text.with_mark(false)),
        Value::Undefined(_) => return Ok(Text::empty()),
        Value::Int(_, Origin::Data) | Value::Float(_, Origin::Data) => CONTENT,
        Value::None | Value::Bool(_) | Value::Int(..) | Value::Float(..) => TEMPLATE,
        Value::List(_) | Value::Tuple(_) | Value::Dict(_) | Value::View(..) | Value::Range(_) => {
            run.budget.weigh(value)?;
            value.owner()
        }
        _ => return silent(value),
    };
    let mut out = String::new();
    write_repr(value, &mut out)?;
    Ok(Text::from_str(&out, owner))
}

fn silent<T>(value: &Value) -> Result<T> {
    unsupported(match value {
        Value::Lazy(_) => "printing a sequence that is made item by item".to_string(),
        other => format!("printing a {}", other.kind()),
    })
}

/// Append what lists and objects print for a part of theirs.
fn write_repr(value: &Value, out: &mut String) -> Result<()> {
    match value {
        Value::Undefined(_) => out.push_str("Undefined"),
        Value::None => out.push_str("None"),
        Value::Bool(held) => out.push_str(if *held { "True" } else { "False" }),
        Value::Int(held, _) => out.push_str(&held.to_string()),
        Value::Float(held, _) => out.push_str(&float_text(*held, "inf", "nan")),
        Value::Text(text) if text.is_marked() => {
            return unsupported("printing what holds a text marked safe")
        }
        Value::Text(text) => write_quoted(text.characters(), out),
        Value::List(list) => write_items(list.items(), ("[", "]"), out)?,
        Value::Tuple(list) if list.len() == 1 => write_items(list.items(), ("(", ",)"), out)?,
        Value::Tuple(list) => write_items(list.items(), ("(", ")"), out)?,
        Value::Dict(dict) => {
            out.push('{');
            for (at, (key, held)) in dict.rows().iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write_repr(key, out)?;
                out.push_str(": ");
                write_repr(held, out)?;
            }
            out.push('}');
        }
        Value::View(kind, dict) => {
            out.push_str(kind.name());
            let items: Vec<Value> = (0..dict.len()).map(|at| kind.item(dict, at)).collect();
            write_items(&items, ("([", "])"), out)?;
        }
        Value::Range(range) => {
            let step = if range.step == 1 { String::new() } else { format!(", {}", range.step) };
            out.push_str(&format!("range({}, {}{})", range.start, range.stop, step));
        }
        other => return silent(other),
    }
    Ok(())
}

fn write_items(items: &[Value], around: (&str, &str), out: &mut String) -> Result<()> {
    out.push_str(around.0);
    for (at, item) in items.iter().enumerate() {
        out.push_str(if at > 0 { ", " } else { "" });
        write_repr(item, out)?;
    }
    out.push_str(around.1);
    Ok(())
}

/// Characters of a key that words repeat.
const SPELLED: usize = 60;

/// A name as lists print it.
pub fn quoted(name: &str) -> String {
    let mut out = String::new();
    write_quoted(&name.chars().collect::<Vec<char>>(), &mut out);
    out
}

/// How words write a key: texts and numbers as they are, others by their kind.
pub fn spelled(key: &Value) -> String {
    let mut out = String::new();
    match key {
        Value::Text(text) => {
            let characters = text.characters();
            write_quoted(&characters[..characters.len().min(SPELLED)], &mut out);
        }
        Value::None => out.push_str("None"),
        Value::Bool(held) => out.push_str(if *held { "True" } else { "False" }),
        Value::Int(held, _) => out.push_str(&held.to_string()),
        Value::Float(held, _) => out.push_str(&float_text(*held, "inf", "nan")),
        other => out.push_str(other.kind()),
    }
    out
}

fn write_quoted(text: &[char], out: &mut String) {
    let quote = if text.contains(&'\'') && !text.contains(&'"') { '"' } else { '\'' };
    out.push(quote);
    for &c in text {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote || c == '\\' => out.extend(['\\', c]),
            c if unicode::is_printable(c) => out.push(c),
            c => out.push_str(&match c as u32 {
                code @ 0..=0xff => format!("\\x{:02x}", code),
                code @ 0x100..=0xffff => format!("\\u{:04x}", code),
                code => format!("\\U{:08x}", code),
            }),
        }
    }
    out.push(quote);
}
