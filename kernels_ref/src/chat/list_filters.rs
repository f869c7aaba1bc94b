//! Filters on lists: choosing, mapping and joining.

use std::collections::BTreeSet;

use crate::chat::arguments::{unknown, Arguments};
use crate::chat::arithmetic::add;
use crate::chat::error::ill_typed;
use crate::chat::lazy::{collected, Each, Lazy, Walk};
use crate::chat::lookup::Getter;
use crate::chat::printing::to_text;
use crate::chat::state::Run;
use crate::chat::text::Text;
use crate::chat::text_methods::join_pieces;
use crate::chat::value::Value;
use crate::error::Result;

/// `items`.
pub fn items(value: &Value, given: &Arguments, _: &mut Run) -> Result<Value> {
    given.bound([])?;
    Ok(Lazy::start(value, Each::Pair, 0))
}

/// `join`.
pub fn join(value: &Value, given: &Arguments, run: &mut Run) -> Result<Value> {
    let [between, attribute] = given.bound(["d", "attribute"])?;
    let getter = Getter::plain(attribute.as_ref())?;
    let between = match between {
        Some(between) => to_text(&between, run)?,
        None => Text::empty(),
    };
    let (mut walk, mut pieces) = (Walk::over(value)?, Vec::new());
    while let Some(item) = walk.step(run)? {
        let field = getter.get(&item, run)?;
        pieces.push(to_text(&field, run)?);
    }
    join_pieces(&between, &pieces, run).map(Value::Text)
}

/// `first`.
pub fn first(value: &Value, given: &Arguments, run: &mut Run) -> Result<Value> {
    given.bound([])?;
    let item = Walk::over(value)?.next(run)?;
    Ok(item.unwrap_or_else(|| Value::undefined("No first item, sequence was empty.")))
}

/// `last`.
pub fn last(value: &Value, given: &Arguments, run: &mut Run) -> Result<Value> {
    given.bound([])?;
    let item = match Walk::back(value) {
        Some(mut walk) => walk.next(run)?,
        None => return ill_typed("the last item", value.kind()),
    };
    Ok(item.unwrap_or_else(|| Value::undefined("No last item, sequence was empty.")))
}

/// `reverse`.
pub fn reverse(value: &Value, given: &Arguments, run: &mut Run) -> Result<Value> {
    given.bound([])?;
    if let Value::Text(text) = value {
        return text.picked((0..text.len()).rev(), text.len()).map(Value::Text);
    }
    if let Some(lazy) = Lazy::backward(value) {
        return Ok(lazy);
    }
    let mut held = collected(value, run)?;
    held.reverse();
    Ok(Value::list(held))
}

/// `list`.
pub fn list(value: &Value, given: &Arguments, run: &mut Run) -> Result<Value> {
    given.bound([])?;
    collected(value, run).map(Value::list)
}

/// `unique`.
pub fn unique(value: &Value, given: &Arguments, run: &mut Run) -> Result<Value> {
    let [exact, attribute] = given.bound(["case_sensitive", "attribute"])?;
    let folded = !exact.map_or(false, |exact| run.truth(&exact));
    // The source looks at the attribute when the first item is asked for; the place is the same.
    let getter = Getter::plain(attribute.as_ref())?.folded(folded);
    Ok(Lazy::start(value, Each::Unique { getter, seen: BTreeSet::new() }, given.depth()))
}

/// `sum`.
pub fn sum(value: &Value, given: &Arguments, run: &mut Run) -> Result<Value> {
    let [attribute, start] = given.bound(["attribute", "start"])?;
    let getter = Getter::plain(attribute.as_ref())?;
    let mut total = start.unwrap_or_else(|| Value::int(0));
    let mut walk = Walk::over(value)?;
    while let Some(item) = walk.step(run)? {
        let field = getter.get(&item, run)?;
        total = add(&total, &field, run)?;
    }
    Ok(total)
}

/// `map`.
pub fn map(value: &Value, given: &Arguments, _: &mut Run) -> Result<Value> {
    Ok(Lazy::start(value, Each::Map(given.clone()), given.depth()))
}

/// `select`, `reject`, `selectattr` and `rejectattr`.
pub fn choose(value: &Value, given: &Arguments, wanted: bool, by_field: bool) -> Result<Value> {
    if let Some((name, _)) = given.named.first() {
        return unknown(name);
    }
    let each = Each::Choose { wanted, by_field, args: given.args.clone() };
    Ok(Lazy::start(value, each, given.depth()))
}
