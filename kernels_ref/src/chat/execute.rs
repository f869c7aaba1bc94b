//! Statements of a compiled template: output, names, branches, loops, macros.

use std::rc::Rc;

use crate::chat::error::{ill_typed, refused};
use crate::chat::evaluate::{evaluate, located};
use crate::chat::functions::bound_depth;
use crate::chat::ir::{For, Index, Name, Op};
use crate::chat::lazy::{collected, Walk};
use crate::chat::printing::to_text;
use crate::chat::state::{write_name, Loop, State};
use crate::chat::text::Text;
use crate::chat::value::{List, Value};
use crate::error::Result;

/// How a statement ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Flow {
    /// The next statement follows.
    Next,
    /// The nearest loop is left.
    Break,
    /// The nearest round is left.
    Continue,
}

/// Run a statement node.
pub fn execute(state: &mut State<'_>, index: Index) -> Result<Flow> {
    let node = &state.template.nodes[index as usize];
    state.run.budget.enter()?;
    let flow = statement(state, index, &node.op).map_err(|error| located(error, node.line));
    state.run.budget.leave();
    flow
}

fn statement(state: &mut State<'_>, index: Index, op: &Op) -> Result<Flow> {
    match op {
        Op::Body(held) => return body(state, held),
        Op::Break => return Ok(Flow::Break),
        Op::Continue => return Ok(Flow::Continue),
        Op::If { tests, bodies, other, prefix } => {
            return branches(state, tests, bodies, *other, prefix)
        }
        Op::For(held) => return for_loop(state, held),
        Op::With { targets, values, hidden, body } => {
            return with(state, targets, values, hidden, *body)
        }
        Op::Scope { hidden, body } => return inside(state, hidden, |state| execute(state, *body)),
        Op::Capture { target, value, hidden, body } => {
            return match filtered(state, hidden, *body, *value)? {
                Ok(made) => assign(state, *target, made).map(|()| Flow::Next),
                Err(flow) => Ok(flow),
            }
        }
        Op::Filtered { hidden, body, value } => {
            return match filtered(state, hidden, *body, *value)? {
                Ok(Value::Text(text)) => state.write(&text.with_mark(false)).map(|()| Flow::Next),
                Ok(other) => ill_typed("the output of a filter", other.kind()),
                Err(flow) => Ok(flow),
            }
        }
        Op::Emit(held) => {
            for &index in held {
                let value = evaluate(state, index)?;
                write(state, &value)?;
            }
        }
        Op::Set { target, value } => {
            let value = evaluate(state, *value)?;
            assign(state, *target, value)?;
        }
        Op::Macro(held) => {
            state.keep();
            let made = Value::Macro(index, state.scope);
            state.set(&held.name, made);
        }
        _ => return refused("an expression does nothing"),
    }
    Ok(Flow::Next)
}

fn write(state: &mut State<'_>, value: &Value) -> Result<()> {
    let text = to_text(value, &mut state.run)?;
    state.write(&text)
}

fn body(state: &mut State<'_>, held: &[Index]) -> Result<Flow> {
    for &index in held {
        let flow = execute(state, index)?;
        if flow != Flow::Next {
            return Ok(flow);
        }
    }
    Ok(Flow::Next)
}

/// Run something in a block of its own.
fn inside<'t, T>(
    state: &mut State<'t>,
    hidden: &[Name],
    run: impl FnOnce(&mut State<'t>) -> Result<T>,
) -> Result<T> {
    let parent = state.scope;
    let before = state.enter(hidden, parent);
    let made = run(state)?;
    state.leave(before);
    Ok(made)
}

/// What a body writes, or how it was left.
pub fn captured(state: &mut State<'_>, body: Index) -> Result<std::result::Result<Text, Flow>> {
    state.begin();
    let flow = execute(state, body)?;
    let text = state.end()?;
    Ok(if flow == Flow::Next { Ok(text) } else { Err(flow) })
}

/// What a body writes, changed by an expression that sees it.
fn filtered(
    state: &mut State<'_>,
    hidden: &[Name],
    body: Index,
    value: Index,
) -> Result<std::result::Result<Value, Flow>> {
    inside(state, hidden, |state| match captured(state, body)? {
        Ok(text) => {
            state.captured.push(text);
            let made = evaluate(state, value);
            state.captured.pop();
            made.map(Ok)
        }
        Err(flow) => Ok(Err(flow)),
    })
}

fn assign(state: &mut State<'_>, target: Index, value: Value) -> Result<()> {
    let target = &state.template.nodes[target as usize].op;
    bound_depth(&value)?;
    let value = match value {
        Value::Text(text) if state.prefix => Value::Text(text.as_prefix()),
        value => value,
    };
    match target {
        Op::ToName(name) => state.set(name, value),
        Op::ToField(name, field) => match state.resolve(name) {
            Value::Namespace(at) => write_name(&mut state.run.namespaces[at], field, value),
            _ => return refused("cannot assign attribute on non-namespace object"),
        },
        Op::ToParts(targets) => {
            let parts = collected(&value, &mut state.run)?;
            if parts.len() != targets.len() {
                let detail = format!("{} values for {} names", parts.len(), targets.len());
                return refused(format!("ValueError: {}", detail));
            }
            for (&target, part) in targets.iter().zip(parts) {
                assign(state, target, part)?;
            }
        }
        _ => return refused("nothing is assigned to"),
    }
    Ok(())
}

fn branches(
    state: &mut State<'_>,
    tests: &[Index],
    bodies: &[Index],
    other: Option<Index>,
    prefix: &[bool],
) -> Result<Flow> {
    for (at, &test) in tests.iter().enumerate() {
        let test = evaluate(state, test)?;
        if state.run.truth(&test) {
            return branch(state, bodies[at], prefix[at]);
        }
    }
    match other {
        Some(other) => branch(state, other, prefix[tests.len()]),
        None => Ok(Flow::Next),
    }
}

fn branch(state: &mut State<'_>, body: Index, prefix: bool) -> Result<Flow> {
    let before = state.prefix;
    state.prefix = before || prefix;
    let flow = execute(state, body)?;
    state.prefix = before;
    Ok(flow)
}

fn with(
    state: &mut State<'_>,
    targets: &[Index],
    values: &[Index],
    hidden: &[Name],
    body: Index,
) -> Result<Flow> {
    let mut held = Vec::with_capacity(values.len());
    for &value in values {
        held.push(evaluate(state, value)?);
    }
    inside(state, hidden, |state| {
        for (&target, value) in targets.iter().zip(held) {
            assign(state, target, value)?;
        }
        execute(state, body)
    })
}

fn for_loop(state: &mut State<'_>, held: &For) -> Result<Flow> {
    let over = evaluate(state, held.over)?;
    let items = Rc::new(List::new(chosen(state, held, &over)?));
    state.run.loops.push(Loop { items: Rc::clone(&items), index0: 0, changed: None });
    let at = state.run.loops.len() - 1;
    let (name, mut completed) = (Rc::from("loop"), false);
    for (index0, item) in items.items().iter().enumerate() {
        state.run.loops[at].index0 = index0;
        let flow = inside(state, &held.hidden, |state| {
            state.set(&name, Value::Loop(at));
            assign(state, held.target, item.clone())?;
            execute(state, held.body)
        })?;
        completed = completed || flow == Flow::Next;
        if flow == Flow::Break {
            break;
        }
    }
    // The source writes `else` where no round came to its end, and not only where there was none.
    match held.other {
        Some(other) if !completed => {
            inside(state, &held.other_hidden, |state| execute(state, other))
        }
        _ => Ok(Flow::Next),
    }
}

/// The items that the condition of a loop lets through.
fn chosen(state: &mut State<'_>, held: &For, over: &Value) -> Result<Vec<Value>> {
    let test = match held.test {
        Some(test) => test,
        None => return collected(over, &mut state.run),
    };
    let (mut walk, mut found) = (Walk::over(over)?, Vec::new());
    while let Some(item) = walk.step(&mut state.run)? {
        let holds = inside(state, &[], |state| {
            assign(state, held.target, item.clone())?;
            let holds = evaluate(state, test)?;
            Ok(state.run.truth(&holds))
        })?;
        if holds {
            found.push(item);
        }
    }
    Ok(found)
}
