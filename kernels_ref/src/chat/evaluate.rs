//! Expressions of a compiled template.

use std::rc::Rc;

use crate::chat::arguments::Arguments;
use crate::chat::arithmetic::{add, arithmetic, signed};
use crate::chat::compare::{compared, weigh, Comparison};
use crate::chat::error::{ill_typed, refused, unsupported};
use crate::chat::filters::{is_unmarked, run_filter};
use crate::chat::functions;
use crate::chat::ir::{Given, Index, Op};
use crate::chat::is_tests::run_test;
use crate::chat::key::key_of;
use crate::chat::lookup::{attribute, cut, item, missing};
use crate::chat::macros::call_macro;
use crate::chat::methods;
use crate::chat::printing::{quoted, to_text};
use crate::chat::state::State;
use crate::chat::text::Text;
use crate::chat::value::{Dict, Value};
use crate::error::{Error, Result};

/// The value of an expression node.
pub fn evaluate(state: &mut State<'_>, index: Index) -> Result<Value> {
    let node = &state.template.nodes[index as usize];
    state.run.budget.enter()?;
    let made = expression(state, &node.op).map_err(|error| located(error, node.line));
    state.run.budget.leave();
    made
}

/// The error with the line where it arose; the innermost one stays.
pub fn located(mut error: Error, line: u64) -> Error {
    if error.place.is_empty() {
        error.place = format!("line {}", line);
    }
    error
}

fn all(state: &mut State<'_>, indexes: &[Index]) -> Result<Vec<Value>> {
    indexes.iter().map(|&index| evaluate(state, index)).collect()
}

fn given(state: &mut State<'_>, held: &Given) -> Result<Arguments> {
    let (args, values) = (all(state, &held.args)?, all(state, &held.values)?);
    let mut named: Vec<(Rc<str>, Value)> = Vec::new();
    for (name, value) in held.names.iter().zip(values) {
        match named.iter_mut().find(|row| row.0 == *name) {
            Some(row) => row.1 = value,
            None => named.push((Rc::clone(name), value)),
        }
    }
    Ok(Arguments { args, named })
}

fn expression(state: &mut State<'_>, op: &Op) -> Result<Value> {
    match op {
        Op::Const(value) => Ok(value.clone()),
        Op::Name(name) => Ok(state.resolve(name)),
        Op::List(held) => all(state, held).map(Value::list),
        Op::Tuple(held) => all(state, held).map(Value::tuple),
        Op::Dict { keys, values } => dict(state, keys, values),
        Op::Add(held) => sum(state, held),
        Op::Concat(held) => concat(state, held),
        Op::Arith { op, left, right } => {
            let (left, right) = (evaluate(state, *left)?, evaluate(state, *right)?);
            arithmetic(*op, &left, &right, &mut state.run)
        }
        Op::Neg(held) => signed(&evaluate(state, *held)?, true),
        Op::Pos(held) => signed(&evaluate(state, *held)?, false),
        Op::Not(held) => {
            let held = evaluate(state, *held)?;
            Ok(Value::Bool(!state.run.truth(&held)))
        }
        Op::And(left, right) => either(state, *left, *right, false),
        Op::Or(left, right) => either(state, *left, *right, true),
        Op::Compare { first, ops, others } => compare(state, *first, ops, others),
        Op::Cond { test, then, other, prefix } => condition(state, *test, (*then, *other), *prefix),
        Op::Attr(held, name) => attribute(&evaluate(state, *held)?, name, &state.run),
        Op::Item(held, key) => {
            let (held, key) = (evaluate(state, *held)?, evaluate(state, *key)?);
            item(&held, &key, &state.run)
        }
        Op::Slice(held, parts) => slice(state, *held, parts),
        Op::Filter { held, name, given } => filter(state, *held, name, given),
        Op::Test { held, name, args } => {
            let held = evaluate(state, *held)?;
            let args = all(state, args)?;
            run_test(name, &held, &args, &mut state.run).map(Value::Bool)
        }
        Op::Call { name, given } => call(state, name, given),
        Op::Method { held, name, given: held_given } => {
            let held = evaluate(state, *held)?;
            let given = given(state, held_given)?;
            methods::call(&held, name, &given, &mut state.run)
        }
        Op::Captured => match state.captured.last() {
            Some(text) => Ok(Value::Text(text.clone())),
            None => refused("IndexError: nothing is captured"),
        },
        _ => refused("a statement has no value"),
    }
}

fn dict(state: &mut State<'_>, keys: &[Index], values: &[Index]) -> Result<Value> {
    let mut rows = Vec::with_capacity(keys.len());
    for (&key, &value) in keys.iter().zip(values) {
        let spelled = evaluate(state, key)?;
        let key = key_of(&spelled)?;
        let value = evaluate(state, value)?;
        match key {
            Some(key) => rows.push((key, spelled, value)),
            None => return ill_typed("a key", spelled.kind()),
        }
    }
    Ok(Value::Dict(Rc::new(Dict::new(rows))))
}

/// A sum of plain texts is built once, at its end.
fn sum(state: &mut State<'_>, held: &[Index]) -> Result<Value> {
    let (first, rest) = match held.split_first() {
        Some(parts) => parts,
        None => return refused("IndexError: a sum of nothing"),
    };
    let mut total = evaluate(state, *first)?;
    let mut texts = chain(&total);
    for &index in rest {
        let value = evaluate(state, index)?;
        if let (Some(texts), Some(mut more)) = (texts.as_mut(), chain(&value)) {
            texts.append(&mut more);
            continue;
        }
        if let Some(texts) = texts.take() {
            total = Value::Text(Text::joined(&texts)?);
        }
        total = add(&total, &value, &mut state.run)?;
        texts = chain(&total);
    }
    match texts {
        None => Ok(total),
        Some(texts) => built(state, &texts),
    }
}

fn chain(value: &Value) -> Option<Vec<Text>> {
    match value {
        Value::Text(text) if !text.is_marked() => Some(vec![text.clone()]),
        _ => None,
    }
}

fn built(state: &mut State<'_>, texts: &[Text]) -> Result<Value> {
    state.run.budget.text(texts.iter().map(|text| text.len() as u64).sum())?;
    Text::joined(texts).map(Value::Text)
}

fn concat(state: &mut State<'_>, held: &[Index]) -> Result<Value> {
    let values = all(state, held)?;
    let texts = values.iter().map(|value| to_text(value, &mut state.run));
    let texts = texts.collect::<Result<Vec<Text>>>()?;
    built(state, &texts)
}

/// `and` and `or`: the first value decides whether the second is looked at.
fn either(state: &mut State<'_>, left: Index, right: Index, stops: bool) -> Result<Value> {
    let left = evaluate(state, left)?;
    if state.run.truth(&left) == stops {
        return Ok(left);
    }
    evaluate(state, right)
}

fn compare(
    state: &mut State<'_>,
    first: Index,
    ops: &[Comparison],
    others: &[Index],
) -> Result<Value> {
    let mut left = evaluate(state, first)?;
    for (&op, &index) in ops.iter().zip(others) {
        let right = evaluate(state, index)?;
        weigh(op, &left, &right, &mut state.run)?;
        if !compared(op, &left, &right, &mut state.run)? {
            return Ok(Value::Bool(false));
        }
        left = right;
    }
    Ok(Value::Bool(true))
}

fn condition(
    state: &mut State<'_>,
    test: Index,
    values: (Index, Option<Index>),
    prefix: [bool; 2],
) -> Result<Value> {
    let test = evaluate(state, test)?;
    let holds = state.run.truth(&test);
    let chosen = if holds { Some(values.0) } else { values.1 };
    let value = match chosen {
        Some(index) => evaluate(state, index)?,
        None => return Ok(Value::undefined("the condition is false and there is no else")),
    };
    Ok(match value {
        Value::Text(text) if prefix[usize::from(!holds)] => Value::Text(text.as_prefix()),
        value => value,
    })
}

fn slice(state: &mut State<'_>, held: Index, parts: &[Option<Index>; 3]) -> Result<Value> {
    let held = evaluate(state, held)?;
    let mut values = [Value::None, Value::None, Value::None];
    for (value, part) in values.iter_mut().zip(parts) {
        if let Some(part) = part {
            *value = evaluate(state, *part)?;
        }
    }
    cut(&held, &values, &mut state.run)
}

fn filter(state: &mut State<'_>, held: Index, name: &str, held_given: &Given) -> Result<Value> {
    let held = evaluate(state, held)?;
    if let Value::Text(text) = &held {
        state.run.budget.text(text.len() as u64)?;
        if text.is_marked() && !is_unmarked(name) {
            return unsupported(format!("the filter {} on a text marked safe", quoted(name)));
        }
    }
    let given = given(state, held_given)?;
    run_filter(name, &held, &given, &mut state.run)
}

fn call(state: &mut State<'_>, name: &Rc<str>, held_given: &Given) -> Result<Value> {
    let callee = state.resolve(name);
    let given = given(state, held_given)?;
    match callee {
        Value::Macro(node, scope) => call_macro(state, node, scope, given).map(Value::Text),
        Value::Function(function) => {
            functions::call(function, &given, &state.clock, &mut state.run)
        }
        Value::Undefined(what) => missing(&what),
        other => ill_typed("a call", other.kind()),
    }
}
