//! Methods of texts.

use crate::chat::arguments::{integer, place, required, Arguments};
use crate::chat::error::{ill_typed, refused, unsupported};
use crate::chat::filters::stripped_set;
use crate::chat::lazy::Walk;
use crate::chat::state::Run;
use crate::chat::text::Text;
use crate::chat::text_format::format;
use crate::chat::text_operations as ops;
use crate::chat::unicode;
use crate::chat::value::Value;
use crate::error::Result;

type Method = fn(&Text, &Arguments, &mut Run) -> Result<Value>;

fn by_name(name: &str) -> Option<Method> {
    Some(match name {
        "capitalize" => |text, given, _| changed(text, given, ops::capitalize),
        "lower" => |text, given, _| changed(text, given, ops::lower),
        "title" => |text, given, _| changed(text, given, ops::title),
        "upper" => |text, given, _| changed(text, given, ops::upper),
        "isalnum" => |text, given, _| all(text, given, unicode::is_alphanumeric),
        "isalpha" => |text, given, _| all(text, given, unicode::is_alphabetic),
        "isdigit" => |text, given, _| all(text, given, unicode::is_digit),
        "isnumeric" => |text, given, _| all(text, given, unicode::is_numeric),
        "isspace" => |text, given, _| all(text, given, unicode::is_space),
        "islower" => |text, given, _| {
            given.placed::<0>().map(|_| Value::Bool(unicode::is_lower_text(text.characters())))
        },
        "isupper" => |text, given, _| {
            given.placed::<0>().map(|_| Value::Bool(unicode::is_upper_text(text.characters())))
        },
        "count" => |text, given, _| counted(text, given),
        "find" => |text, given, _| found(text, given, false),
        "rfind" => |text, given, _| found(text, given, true),
        "startswith" => |text, given, _| ends(text, given, true),
        "endswith" => |text, given, _| ends(text, given, false),
        "format" => format,
        "join" => join,
        "strip" => |text, given, _| stripped(text, given, true, true),
        "lstrip" => |text, given, _| stripped(text, given, true, false),
        "rstrip" => |text, given, _| stripped(text, given, false, true),
        "partition" => |text, given, _| partitioned(text, given, false),
        "rpartition" => |text, given, _| partitioned(text, given, true),
        "removeprefix" => |text, given, _| removed(text, given, true),
        "removesuffix" => |text, given, _| removed(text, given, false),
        "replace" => replace,
        "split" => |text, given, run| split(text, given, run, false),
        "rsplit" => |text, given, run| split(text, given, run, true),
        "splitlines" => split_lines,
        _ => return None,
    })
}

/// True if texts have a method of this name.
pub fn is_known(name: &str) -> bool {
    by_name(name).is_some()
}

/// `text.name(…)`.
pub fn call(text: &Text, name: &str, given: &Arguments, run: &mut Run) -> Result<Value> {
    match by_name(name) {
        Some(method) => method(text, given, run),
        None => refused(format!("AttributeError: '{}'", name)),
    }
}

fn changed(text: &Text, given: &Arguments, change: fn(&Text) -> Text) -> Result<Value> {
    given.placed::<0>()?;
    Ok(Value::Text(change(text)))
}

fn all(text: &Text, given: &Arguments, holds: fn(char) -> bool) -> Result<Value> {
    given.placed::<0>()?;
    Ok(Value::Bool(!text.is_empty() && text.characters().iter().all(|&c| holds(c))))
}

fn text_of(value: Option<Value>, name: &str) -> Result<Text> {
    match required(value, name)? {
        Value::Text(text) => Ok(text),
        other => ill_typed(name, other.kind()),
    }
}

/// A bound of a search: null for the default; beyond 64 bits as far as it goes.
pub fn clipped(value: Option<Value>, default: i64) -> Result<i64> {
    match value {
        None | Some(Value::None) => Ok(default),
        Some(value) => match value.as_int() {
            Some(at) => Ok(at.clamp(i64::MIN.into(), i64::MAX.into()) as i64),
            None => ill_typed("a place", value.kind()),
        },
    }
}

/// Places from the front for places that may count from the end; the first may lie behind.
pub fn bounds(start: i64, stop: i64, len: usize) -> (usize, usize) {
    let counted = |at: i64| if at < 0 { (at.saturating_add(len as i64)).max(0) } else { at };
    let stop = (counted(stop) as u64).min(len as u64) as usize;
    (usize::try_from(counted(start)).unwrap_or(usize::MAX), stop)
}

/// The text looked for and where.
fn searched(text: &Text, given: &Arguments) -> Result<(Value, usize, usize)> {
    let [needle, start, stop] = given.placed()?;
    let needle = required(needle, "text")?;
    let (start, stop) = bounds(clipped(start, 0)?, clipped(stop, i64::MAX)?, text.len());
    Ok((needle, start, stop))
}

fn counted(text: &Text, given: &Arguments) -> Result<Value> {
    let (needle, start, stop) = searched(text, given)?;
    let needle = text_of(Some(needle), "text")?;
    Ok(Value::count(match text.characters().get(start..stop) {
        None => 0,
        Some(held) if needle.is_empty() => held.len() + 1,
        Some(held) => ops::count(held, needle.characters()),
    }))
}

fn found(text: &Text, given: &Arguments, last: bool) -> Result<Value> {
    let (needle, start, stop) = searched(text, given)?;
    let needle = text_of(Some(needle), "text")?;
    let at = text.characters().get(start..stop).and_then(|held| {
        let needle = needle.characters();
        match last {
            true if needle.is_empty() => Some(held.len()),
            true => ops::find_back(held, needle),
            false => ops::find(held, needle, 0),
        }
    });
    Ok(Value::int(at.map_or(-1, |at| (start + at) as i128)))
}

fn ends(text: &Text, given: &Arguments, front: bool) -> Result<Value> {
    let (needle, start, stop) = searched(text, given)?;
    let wanted = match &needle {
        Value::Text(one) => vec![one.clone()],
        Value::Tuple(list) => {
            let one = |value: &Value| text_of(Some(value.clone()), "text");
            // The source asks one after the other and stops at the first that fits.
            let mut texts = Vec::new();
            for value in list.items() {
                match one(value) {
                    Ok(text) => texts.push(text),
                    Err(error) if fits(text, &texts, start, stop, front) => drop(error),
                    Err(error) => return Err(error),
                }
            }
            texts
        }
        other => return ill_typed("text", other.kind()),
    };
    Ok(Value::Bool(fits(text, &wanted, start, stop, front)))
}

fn fits(text: &Text, wanted: &[Text], start: usize, stop: usize, front: bool) -> bool {
    text.characters().get(start..stop).map_or(false, |held| {
        wanted.iter().any(|one| match front {
            true => held.starts_with(one.characters()),
            false => held.ends_with(one.characters()),
        })
    })
}

fn stripped(text: &Text, given: &Arguments, left: bool, right: bool) -> Result<Value> {
    let [set] = given.placed()?;
    ops::strip(text, stripped_set(set.as_ref())?, left, right).map(Value::Text)
}

fn separator(value: Option<Value>) -> Result<Text> {
    let by = text_of(value, "separator")?;
    if by.is_empty() {
        return refused("ValueError: empty separator");
    }
    Ok(by)
}

fn partitioned(text: &Text, given: &Arguments, last: bool) -> Result<Value> {
    let [by] = given.placed()?;
    let parts = ops::partition(text, separator(by)?.characters(), last)?;
    Ok(Value::tuple(parts.into_iter().map(Value::Text).collect()))
}

fn removed(text: &Text, given: &Arguments, front: bool) -> Result<Value> {
    let [part] = given.placed()?;
    let part = text_of(part, "text")?;
    let held = text.characters();
    let range = if front && held.starts_with(part.characters()) {
        part.len()..text.len()
    } else if !front && held.ends_with(part.characters()) {
        0..text.len() - part.len()
    } else {
        0..text.len()
    };
    text.slice(range).map(Value::Text)
}

fn replace(text: &Text, given: &Arguments, run: &mut Run) -> Result<Value> {
    let [old, new, count] = given.placed()?;
    let (old, new) = (required(old, "old")?, required(new, "new")?);
    let (old, new) = (text_of(Some(old), "old")?, text_of(Some(new), "new")?);
    replaced(text, &old, &new, place(count, -1)?, run).map(Value::Text)
}

/// `replace`, its size counted before it is built.
pub fn replaced(text: &Text, old: &Text, new: &Text, count: i64, run: &mut Run) -> Result<Text> {
    let found = match old.is_empty() {
        true => text.len() + 1,
        false => ops::count(text.characters(), old.characters()),
    };
    let times = found.min(ops::most(count));
    let grown = times as i128 * (new.len() as i128 - old.len() as i128);
    let size = (text.len() as i128).max(text.len() as i128 + grown);
    run.budget.text(size as u64)?;
    run.budget.charge(times as u64)?;
    ops::replace(text, old.characters(), &new.with_mark(false), times)
}

fn split(text: &Text, given: &Arguments, run: &mut Run, back: bool) -> Result<Value> {
    let [by, most] = given.bound(["sep", "maxsplit"])?;
    let most = ops::most(place(most, -1)?);
    let pieces = match by {
        None | Some(Value::None) if back => ops::words_back(text, most)?,
        None | Some(Value::None) => ops::words(text, most)?,
        by if back => ops::split_back(text, separator(by)?.characters(), most)?,
        by => ops::split(text, separator(by)?.characters(), most)?,
    };
    listed(pieces, run)
}

fn split_lines(text: &Text, given: &Arguments, run: &mut Run) -> Result<Value> {
    let [keep] = given.bound(["keepends"])?;
    // Python 3.12 takes any value for the flag, 3.11 integers alone.
    let keep = integer(keep, 0).or_else(|_| unsupported("splitlines by a flag that is no integer"))?;
    let keep = keep != 0;
    listed(ops::split_lines(text, keep)?, run)
}

fn listed(pieces: Vec<Text>, run: &mut Run) -> Result<Value> {
    run.budget.charge(pieces.len() as u64)?;
    Ok(Value::list(pieces.into_iter().map(Value::Text).collect()))
}

fn join(text: &Text, given: &Arguments, run: &mut Run) -> Result<Value> {
    let [parts] = given.placed()?;
    let mut walk = Walk::over(&required(parts, "parts")?)?;
    let mut pieces = Vec::new();
    while let Some(part) = walk.next(run)? {
        match part {
            Value::Text(part) => pieces.push(part),
            other => return ill_typed("a piece", other.kind()),
        }
        run.budget.charge(1)?;
    }
    join_pieces(text, &pieces, run).map(Value::Text)
}

/// The pieces with a text between them.
pub fn join_pieces(between: &Text, pieces: &[Text], run: &mut Run) -> Result<Text> {
    let size: usize = pieces.iter().map(|piece| piece.len() + between.len()).sum();
    run.budget.text(size as u64)?;
    let mut mixed = Vec::new();
    for piece in pieces {
        mixed.push(between.clone());
        mixed.push(piece.clone());
    }
    Text::joined(mixed.get(1..).unwrap_or(&[]))
}
