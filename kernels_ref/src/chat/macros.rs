//! Calls of macros.

use crate::chat::arguments::Arguments;
use crate::chat::error::refused;
use crate::chat::evaluate::evaluate;
use crate::chat::execute::captured;
use crate::chat::functions::bound_depth;
use crate::chat::ir::{Index, Name, Op};
use crate::chat::printing::quoted;
use crate::chat::state::State;
use crate::chat::text::Text;
use crate::chat::value::Value;
use crate::error::Result;

/// Run a macro; what it writes.
pub fn call_macro(
    state: &mut State<'_>,
    node: Index,
    scope: usize,
    given: Arguments,
) -> Result<Text> {
    let held = match &state.template.nodes[node as usize].op {
        Op::Macro(held) => held,
        _ => return refused("no macro"),
    };
    if given.args.len() > held.parameters.len() {
        let detail = format!("takes not more than {} argument(s)", held.parameters.len());
        return refused(format!("TypeError: macro {} {}", quoted(&held.name), detail));
    }
    let mut values: Vec<(&Name, Value)> = held.parameters.iter().zip(given.args).collect();
    for (name, value) in given.named {
        let known = held.parameters.iter().find(|parameter| **parameter == name);
        match known {
            Some(known) if !values.iter().any(|row| *row.0 == name) => values.push((known, value)),
            _ => {
                let names = (quoted(&held.name), quoted(&name));
                return refused(format!(
                    "TypeError: macro {} takes no argument {}",
                    names.0, names.1
                ));
            }
        }
    }
    state.run.budget.call()?;
    let prefix = std::mem::replace(&mut state.prefix, false);
    let before = state.enter(&held.hidden, scope);
    bind(state, &held.parameters, &held.defaults, values)?;
    let made = captured(state, held.body)?;
    state.leave(before);
    state.prefix = prefix;
    state.run.budget.returned();
    // Reading a template has shown that no macro leaves a loop around it.
    made.or_else(|_| refused("a macro left a loop"))
}

fn bind(
    state: &mut State<'_>,
    parameters: &[Name],
    defaults: &[Index],
    mut given: Vec<(&Name, Value)>,
) -> Result<()> {
    let first_default = parameters.len() - defaults.len();
    for (at, name) in parameters.iter().enumerate() {
        let value = match given.iter().position(|row| row.0 == name) {
            Some(found) => given.swap_remove(found).1,
            None => match at.checked_sub(first_default) {
                Some(default) => evaluate(state, defaults[default])?,
                None => Value::undefined(format!("parameter {} was not provided", quoted(name))),
            },
        };
        bound_depth(&value)?;
        state.set(name, value);
    }
    Ok(())
}
