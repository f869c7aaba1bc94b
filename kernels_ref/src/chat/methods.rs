//! Methods that templates may call on texts, objects, lists and the loop.

use std::rc::Rc;

use crate::chat::arguments::{required, Arguments};
use crate::chat::compare::equal;
use crate::chat::error::{ill_typed, refused, unsupported};
use crate::chat::key::key_of;
use crate::chat::lookup::{item, missing};
use crate::chat::printing::quoted;
use crate::chat::state::Run;
use crate::chat::text::Text;
use crate::chat::text_methods;
use crate::chat::value::{Dict, List, Value, ViewKind};
use crate::error::Result;

const MUTATING: &str =
    " append clear extend insert pop popitem remove reverse setdefault sort update ";
const OTHER: &str = " copy get items keys values count index changed cycle ";

fn among(list: &str, name: &str) -> bool {
    list.split(' ').any(|known| !known.is_empty() && known == name)
}

/// True if the language has a method of this name.
pub fn is_known(name: &str) -> bool {
    among(MUTATING, name) || among(OTHER, name) || text_methods::is_known(name)
}

/// `held.name(…)`.
pub fn call(held: &Value, name: &str, given: &Arguments, run: &mut Run) -> Result<Value> {
    if among(MUTATING, name) {
        return unsupported(format!("the method {}, which changes a value,", quoted(name)));
    }
    match held {
        Value::Text(text) => {
            let harmless = matches!(name, "startswith" | "endswith" | "find" | "count");
            if text.is_marked() && !harmless {
                return unsupported(format!("the method {} on a text marked safe", quoted(name)));
            }
            if text_methods::is_known(name) {
                run.budget.text(text.len() as u64)?;
                return text_methods::call(text, name, given, run);
            }
        }
        Value::Dict(dict) if matches!(name, "copy" | "get" | "items" | "keys" | "values") => {
            return of_dict(dict, name, given, run);
        }
        Value::List(list) if matches!(name, "count" | "index") => {
            return of_list(held, list, name, given, run);
        }
        Value::Loop(at) if matches!(name, "cycle" | "changed") => {
            return of_loop(*at, name, given, run);
        }
        Value::Namespace(_) => return unsupported("a call of a namespace's field"),
        _ => {}
    }
    match item(held, &Value::Text(Text::from_str(name, 0)), run)? {
        Value::Undefined(what) => missing(&what),
        other => refused(format!("{} is a {}, not a method", quoted(name), other.kind())),
    }
}

fn of_dict(dict: &Rc<Dict>, name: &str, given: &Arguments, run: &mut Run) -> Result<Value> {
    run.budget.charge(if name == "get" { 1 } else { dict.len() as u64 })?;
    if let Some(key) = given.args.first() {
        key_of(key)?;
    }
    if name == "get" {
        let [key, default] = given.placed()?;
        let key = required(key, "key")?;
        return match key_of(&key)? {
            Some(key) => Ok(dict.get(&key).cloned().or(default).unwrap_or(Value::None)),
            None => ill_typed("a key", key.kind()),
        };
    }
    given.placed::<0>()?;
    Ok(match name {
        "keys" => Value::View(ViewKind::Keys, Rc::clone(dict)),
        "values" => Value::View(ViewKind::Values, Rc::clone(dict)),
        "items" => Value::View(ViewKind::Items, Rc::clone(dict)),
        _ => Value::Dict(Rc::clone(dict)),
    })
}

fn of_list(
    held: &Value,
    list: &List,
    name: &str,
    given: &Arguments,
    run: &mut Run,
) -> Result<Value> {
    run.budget.weigh(held)?;
    run.budget.weigh(&Value::list(given.args.clone()))?;
    if name == "count" {
        let [value] = given.placed()?;
        let value = required(value, "value")?;
        return Ok(Value::count(list.items().iter().filter(|held| equal(held, &value)).count()));
    }
    let [value, start, stop] = given.placed()?;
    let value = required(value, "value")?;
    for bound in [&start, &stop].into_iter().flatten() {
        if bound.as_int().is_none() {
            return ill_typed("a place", bound.kind());
        }
    }
    let (start, stop) = (text_methods::clipped(start, 0)?, text_methods::clipped(stop, i64::MAX)?);
    let (start, stop) = text_methods::bounds(start, stop, list.len());
    let found = list.items().iter().enumerate().skip(start).take(stop.saturating_sub(start));
    match found.into_iter().find(|(_, held)| equal(held, &value)) {
        Some((at, _)) => Ok(Value::count(at)),
        None => refused("ValueError: the value is not in the list"),
    }
}

fn of_loop(at: usize, name: &str, given: &Arguments, run: &mut Run) -> Result<Value> {
    if name == "cycle" {
        return match run.loops[at].index0.checked_rem(given.args.len()) {
            Some(place) => Ok(given.args[place].clone()),
            None => refused("ZeroDivisionError: a cycle of nothing"),
        };
    }
    run.budget.weigh(&Value::list(given.args.clone()))?;
    let seen = Value::tuple(given.args.clone());
    let before = run.loops[at].changed.replace(seen.clone());
    Ok(Value::Bool(!before.map_or(false, |before| equal(&before, &seen))))
}
