//! Filters by name, and those on single values: texts, numbers, JSON.

use crate::chat::arguments::{integer, place, required, Arguments};
use crate::chat::compare::Comparison;
use crate::chat::error::{ill_typed, refused};
use crate::chat::json_text::{write_json, Layout};
use crate::chat::lazy::Walk;
use crate::chat::list_filters as lists;
use crate::chat::lookup::Getter;
use crate::chat::number_filters as numbers;
use crate::chat::order_filters::{dict_sort, extreme, sort};
use crate::chat::printing::{quoted, to_text};
use crate::chat::state::Run;
use crate::chat::text::{Text, TEMPLATE};
use crate::chat::text_methods::replaced;
use crate::chat::text_operations as ops;
use crate::chat::unicode;
use crate::chat::value::Value;
use crate::error::Result;

/// True for filters that do not keep the mark of a `safe` text in the source either.
pub fn is_unmarked(name: &str) -> bool {
    matches!(
        name,
        "tojson" | "default" | "d" | "length" | "count" | "safe" | "replace" | "int" | "float"
    )
}

type Filter = fn(&Value, &Arguments, &mut Run) -> Result<Value>;

fn by_name(name: &str) -> Option<Filter> {
    Some(match name {
        "abs" => numbers::absolute,
        "capitalize" => |v, given, run| cased(v, given, run, ops::capitalize),
        "lower" => |v, given, run| cased(v, given, run, ops::lower),
        "upper" => |v, given, run| cased(v, given, run, ops::upper),
        "title" => |v, given, run| cased(v, given, run, ops::title_words),
        "string" => |v, given, run| cased(v, given, run, Text::clone),
        "safe" => |v, given, run| cased(v, given, run, |text| text.with_mark(true)),
        "count" | "length" => length,
        "d" | "default" => default,
        "dictsort" => dict_sort,
        "first" => lists::first,
        "float" => numbers::to_float,
        "indent" => indent,
        "int" => numbers::to_int,
        "items" => lists::items,
        "join" => lists::join,
        "last" => lists::last,
        "list" => lists::list,
        "map" => lists::map,
        "max" => |v, given, run| extreme(v, given, run, Comparison::Gt),
        "min" => |v, given, run| extreme(v, given, run, Comparison::Lt),
        "reject" => |v, given, _| lists::choose(v, given, false, false),
        "rejectattr" => |v, given, _| lists::choose(v, given, false, true),
        "select" => |v, given, _| lists::choose(v, given, true, false),
        "selectattr" => |v, given, _| lists::choose(v, given, true, true),
        "replace" => replace,
        "reverse" => lists::reverse,
        "round" => numbers::round,
        "sort" => sort,
        "sum" => lists::sum,
        "tojson" => to_json,
        "trim" => trim,
        "unique" => lists::unique,
        "wordcount" => word_count,
        _ => return None,
    })
}

/// True if there is a filter of this name.
pub fn is_known(name: &str) -> bool {
    by_name(name).is_some()
}

/// Run a filter.
pub fn run_filter(name: &str, value: &Value, given: &Arguments, run: &mut Run) -> Result<Value> {
    match by_name(name) {
        Some(filter) => filter(value, given, run),
        None => refused(format!("KeyError: {}", quoted(name))),
    }
}

/// One item of `map('filter', …)`; the first argument names the filter.
pub fn mapped(item: Value, given: &Arguments, run: &mut Run) -> Result<Value> {
    match given.args.split_first() {
        Some((Value::Text(name), rest)) => {
            let given = Arguments { args: rest.to_vec(), named: given.named.clone() };
            run_filter(&name.string(), &item, &given, run)
        }
        _ => refused("KeyError: a filter that is no text"),
    }
}

/// The getter of `map(attribute=…)`.
pub fn field_of_map(given: &Arguments) -> Result<Getter> {
    let [attribute, default] = match given.named.iter().any(|row| &*row.0 == "attribute") {
        true => given.bound(["attribute", "default"])?,
        false => return refused("map requires a filter argument"),
    };
    Ok(Getter::plain(attribute.as_ref())?.or(default))
}

fn cased(value: &Value, given: &Arguments, run: &mut Run, f: fn(&Text) -> Text) -> Result<Value> {
    given.bound([])?;
    Ok(Value::Text(f(&to_text(value, run)?)))
}

/// Characters to strip: a text or none.
pub fn stripped_set(value: Option<&Value>) -> Result<Option<&[char]>> {
    match value {
        None | Some(Value::None) => Ok(None),
        Some(Value::Text(text)) => Ok(Some(text.characters())),
        Some(other) => ill_typed("characters to strip", other.kind()),
    }
}

fn trim(value: &Value, given: &Arguments, run: &mut Run) -> Result<Value> {
    let [chars] = given.bound(["chars"])?;
    let text = to_text(value, run)?;
    Ok(Value::Text(ops::strip(&text, stripped_set(chars.as_ref())?, true, true)?))
}

fn default(value: &Value, given: &Arguments, run: &mut Run) -> Result<Value> {
    let [default, boolean] = given.bound(["default_value", "boolean"])?;
    let empty = boolean.map_or(false, |flag| run.truth(&flag)) && !run.truth(value);
    if empty || matches!(value, Value::Undefined(_)) {
        return Ok(default.unwrap_or_else(|| Value::Text(Text::empty())));
    }
    Ok(value.clone())
}

fn replace(value: &Value, given: &Arguments, run: &mut Run) -> Result<Value> {
    let [old, new, count] = given.bound(["old", "new", "count"])?;
    let (old, new) = (required(old, "old")?, required(new, "new")?);
    let text = to_text(value, run)?;
    let (old, new) = (to_text(&old, run)?, to_text(&new, run)?);
    let count = place(count.filter(|count| !matches!(count, Value::None)), -1)?;
    replaced(&text, &old, &new, count, run).map(Value::Text)
}

fn length(value: &Value, given: &Arguments, run: &mut Run) -> Result<Value> {
    given.bound([])?;
    Ok(Value::count(match value {
        Value::Undefined(_) => 0,
        Value::Text(text) => text.len(),
        Value::List(list) | Value::Tuple(list) => list.len(),
        Value::Dict(dict) | Value::View(_, dict) => dict.len(),
        Value::Range(range) => range.len,
        Value::Loop(at) => run.loops[*at].items.len(),
        other => return ill_typed("the length", other.kind()),
    }))
}

fn indent(value: &Value, given: &Arguments, run: &mut Run) -> Result<Value> {
    let [width, first, blank] = given.bound(["width", "first", "blank"])?;
    let text = match value {
        Value::Text(text) => text.with_mark(false),
        other => return ill_typed("an indentation", other.kind()),
    };
    let (pad, size) = match width {
        Some(Value::Text(pad)) => (Some(pad.with_mark(false)), pad.len() as i128),
        width => (None, integer(width, 4)?),
    };
    let lines = ops::count_lines(&text) as i128 + 1;
    let made = (text.len() as i128 + size.max(0) * lines).min(u64::MAX.into());
    run.budget.text(made as u64)?;
    let pad = pad.unwrap_or_else(|| Text::of(vec![' '; size.max(0) as usize], TEMPLATE));
    let flag = |flag: Option<Value>| flag.map_or(false, |flag| run.truth(&flag));
    ops::indent(&text, &pad, flag(first), flag(blank)).map(Value::Text)
}

fn word_count(value: &Value, given: &Arguments, run: &mut Run) -> Result<Value> {
    given.bound([])?;
    let text = to_text(value, run)?;
    let word = |c: &char| unicode::is_alphanumeric(*c) || *c == '_';
    let words = text.characters().split(|c| !word(c)).filter(|piece| !piece.is_empty());
    Ok(Value::count(words.count()))
}

fn to_json(value: &Value, given: &Arguments, run: &mut Run) -> Result<Value> {
    let [ascii, indent, separators, keys] =
        given.bound(["ensure_ascii", "indent", "separators", "sort_keys"])?;
    let before = run.budget.steps();
    run.budget.weigh(value)?;
    let parts = u128::from(run.budget.steps() - before);
    let indent = match indent {
        None | Some(Value::None) => None,
        Some(Value::Text(text)) => Some(Ok(text.string())),
        Some(other) => Some(Err(integer(Some(other), 0)?.max(0))),
    };
    let (item, key) = separators_of(separators, indent.is_some(), run)?;
    let width = match &indent {
        None => 0,
        Some(Ok(text)) => text.chars().count() as u128,
        Some(Err(spaces)) => *spaces as u128,
    };
    // The indent is built even where nothing is indented.
    run.budget.text(width.min(u64::MAX.into()) as u64)?;
    let each = width * value.depth() as u128 + (item.chars().count() + key.chars().count()) as u128;
    run.budget.text((each * parts).min(u64::MAX.into()) as u64)?;
    let indent = indent.map(|indent| indent.unwrap_or_else(|spaces| " ".repeat(spaces as usize)));
    let flag = |flag: Option<Value>| flag.map_or(false, |flag| run.truth(&flag));
    let layout = Layout { ascii: flag(ascii), indent, item, key, sorted: flag(keys) };
    let mut out = String::new();
    write_json(value, &layout, 0, &mut out)?;
    let made = Text::from_str(&out, value.owner());
    run.budget.text(made.len() as u64)?;
    Ok(Value::Text(made))
}

const TWO_SEPARATORS: &str = "ValueError: two separators are needed";

/// Two texts, from anything that is walked.
fn separators_of(given: Option<Value>, lines: bool, run: &mut Run) -> Result<(String, String)> {
    let given = match given {
        None | Some(Value::None) => {
            return Ok((if lines { "," } else { ", " }.to_string(), ": ".to_string()))
        }
        Some(given) => given,
    };
    let mut walk = Walk::over(&given)?;
    let mut found = Vec::new();
    while let Some(part) = walk.next(run)? {
        match part {
            _ if found.len() == 2 => return refused(TWO_SEPARATORS),
            Value::Text(text) => found.push(text.string()),
            other => return ill_typed("a separator", other.kind()),
        }
    }
    match (found.pop(), found.pop()) {
        (Some(key), Some(item)) => Ok((item, key)),
        _ => refused(TWO_SEPARATORS),
    }
}
