//! The functions that the source framework gives to a template.

use std::rc::Rc;

use crate::chat::arguments::{integer, required, Arguments};
use crate::chat::error::{beyond, ill_typed, refused, unsupported};
use crate::chat::key::{key_of, Key};
use crate::chat::lazy::Walk;
use crate::chat::limits;
use crate::chat::printing::{quoted, to_text};
use crate::chat::state::{write_name, Names, Run};
use crate::chat::text::Text;
use crate::chat::value::{Dict, Function, Range, Value};
use crate::error::{Code, Error, Result};

/// Call a function; `clock` is the date that the caller gave.
pub fn call(
    function: Function,
    given: &Arguments,
    clock: &Option<Text>,
    run: &mut Run,
) -> Result<Value> {
    match function {
        Function::RaiseException => {
            let [message] = given.bound(["message"])?;
            let message = to_text(&required(message, "message")?, run)?;
            Err(Error::new(Code::TemplateRaised, "", message.string()))
        }
        Function::StrftimeNow => {
            let [format] = given.bound(["format"])?;
            let format = required(format, "format")?;
            match clock {
                Some(clock) => Ok(Value::Text(clock.clone())),
                None => {
                    let format = to_text(&format, run)?.string();
                    Err(Error::new(Code::NondeterministicTemplate, "", format))
                }
            }
        }
        Function::Namespace => namespace(given, run),
        Function::Range => range(given),
        Function::Dict => {
            let dict = Dict::new(rows(given, run)?);
            run.budget.charge(dict.len() as u64)?;
            Ok(Value::Dict(Rc::new(dict)))
        }
    }
}

fn namespace(given: &Arguments, run: &mut Run) -> Result<Value> {
    let dict = Dict::new(rows(given, run)?);
    let mut held = Names::new();
    for (key, value) in dict.rows() {
        let name = to_text(key, run)?.string();
        bound_depth(value)?;
        if name.starts_with('_') {
            return unsupported(format!("the namespace field {}", quoted(&name)));
        }
        write_name(&mut held, &Rc::from(name), value.clone());
    }
    run.namespaces.push(held);
    Ok(Value::Namespace(run.namespaces.len() - 1))
}

/// Refuse what lies in itself too deep, before a name holds it and something deeper is built.
pub fn bound_depth(value: &Value) -> Result<()> {
    if value.depth() > limits::VALUE_DEPTH {
        return beyond("depth of a value", "more", limits::VALUE_DEPTH);
    }
    Ok(())
}

fn hashed(key: &Value) -> Result<Key> {
    match key_of(key)? {
        Some(key) => Ok(key),
        None => ill_typed("a key", key.kind()),
    }
}

/// The rows of `dict(…)`: an object or pairs, and names.
fn rows(given: &Arguments, run: &mut Run) -> Result<Vec<(Key, Value, Value)>> {
    let mut rows = Vec::new();
    match &given.args[..] {
        [] => {}
        [Value::Dict(dict)] => {
            for (key, value) in dict.rows() {
                rows.push((hashed(key)?, key.clone(), value.clone()));
            }
        }
        [pairs] => {
            let mut walk = Walk::over(pairs)?;
            while let Some(pair) = walk.next(run)? {
                let (key, value) = pair_of(&pair, run)?;
                rows.push((hashed(&key)?, key, value));
            }
        }
        more => return refused(format!("TypeError: {} arguments, at most 1", more.len())),
    }
    for (name, value) in &given.named {
        let key = Value::unclaimed(name);
        rows.push((hashed(&key)?, key, value.clone()));
    }
    Ok(rows)
}

fn pair_of(pair: &Value, run: &mut Run) -> Result<(Value, Value)> {
    let mut walk = Walk::over(pair)?;
    match (walk.next(run)?, walk.next(run)?, walk.next(run)?) {
        (Some(key), Some(value), None) => Ok((key, value)),
        _ => refused("ValueError: a pair has two items"),
    }
}

fn range(given: &Arguments) -> Result<Value> {
    let [first, second, third] = given.placed()?;
    let first = integer(Some(required(first, "stop")?), 0)?;
    let (start, stop) = match second {
        None => (0, first),
        second => (first, integer(second, 0)?),
    };
    let step = integer(third, 1)?;
    if step == 0 {
        return refused("ValueError: range() arg 3 must not be zero");
    }
    let span = if step > 0 { stop - start } else { start - stop };
    let len = if span > 0 { (span - 1) / step.abs() + 1 } else { 0 };
    if len > i64::MAX as i128 {
        return refused("OverflowError: the range is too long");
    }
    if len > limits::RANGE {
        return beyond("length of a range", len, limits::RANGE);
    }
    Ok(Value::Range(Rc::new(Range { start, stop, step, len: len as usize })))
}
