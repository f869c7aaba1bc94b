//! Filters that put items in order.

use crate::chat::arguments::Arguments;
use crate::chat::compare::{ordered, Comparison};
use crate::chat::error::{ill_typed, refused, unsupported};
use crate::chat::lazy::collected;
use crate::chat::lookup::Getter;
use crate::chat::state::Run;
use crate::chat::text::Text;
use crate::chat::value::{Value, ViewKind};
use crate::error::Result;

/// A stable merge sort with an order that may refuse.
pub fn sorted<T: Clone>(
    items: Vec<T>,
    mut less: impl FnMut(&T, &T) -> Result<bool>,
) -> Result<Vec<T>> {
    let (mut from, mut width) = (items, 1);
    while width < from.len() {
        let mut made = Vec::with_capacity(from.len());
        for pair in from.chunks(2 * width) {
            let (mut left, mut right) = pair.split_at(width.min(pair.len()));
            while let (Some(a), Some(b)) = (left.first(), right.first()) {
                // Only a truly smaller right item goes first, so that equal ones keep their order.
                let side = if less(b, a)? { &mut right } else { &mut left };
                made.push(side[0].clone());
                *side = &side[1..];
            }
            made.extend_from_slice(left);
            made.extend_from_slice(right);
        }
        from = made;
        width *= 2;
    }
    Ok(from)
}

/// Items that cannot be put in order. Which two are compared first is the algorithm's, so no pair is
/// named.
pub fn no_order<T>() -> Result<T> {
    refused("TypeError: the items have no order")
}

/// A key whose parts are counted before anything compares them.
fn weighed(key: Value, run: &mut Run) -> Result<Value> {
    if matches!(key, Value::View(..)) {
        return unsupported("a comparison of a view of an object");
    }
    run.budget.weigh(&key)?;
    Ok(key)
}

fn sorted_by(
    items: Vec<Value>,
    run: &mut Run,
    reverse: bool,
    mut key: impl FnMut(&Value, &mut Run) -> Result<Value>,
) -> Result<Value> {
    let mut rows = Vec::with_capacity(items.len());
    for item in items {
        rows.push((key(&item, run)?, item));
    }
    let rows = sorted(rows, |a, b| {
        let (a, b) = if reverse { (b, a) } else { (a, b) };
        ordered(Comparison::Lt, &a.0, &b.0)
    })
    .or_else(|_| no_order())?;
    Ok(Value::list(rows.into_iter().map(|row| row.1).collect()))
}

/// Steps of sorting so many items.
fn charge_sort(len: usize, run: &mut Run) -> Result<()> {
    let bits = u64::from(usize::BITS - len.leading_zeros());
    run.budget.charge(len as u64 * bits.max(1))
}

fn truth(value: &Option<Value>, run: &Run) -> bool {
    value.as_ref().map_or(false, |value| run.truth(value))
}

/// `sort`.
pub fn sort(value: &Value, given: &Arguments, run: &mut Run) -> Result<Value> {
    let [reverse, exact, attribute] = given.bound(["reverse", "case_sensitive", "attribute"])?;
    let folded = !truth(&exact, run);
    let mut getters = Vec::new();
    match &attribute {
        Some(Value::Text(text)) => {
            for field in text.characters().split(|&c| c == ',') {
                let field = Value::Text(Text::of(field.to_vec(), 0));
                getters.push(Getter::plain(Some(&field))?.folded(folded));
            }
        }
        other => getters.push(Getter::plain(other.as_ref())?.folded(folded)),
    }
    let held = collected(value, run)?;
    charge_sort(held.len(), run)?;
    let reverse = truth(&reverse, run);
    sorted_by(held, run, reverse, |item, run| {
        let keys = getters.iter().map(|getter| weighed(getter.get(item, run)?, run));
        keys.collect::<Result<Vec<Value>>>().map(Value::list)
    })
}

/// `dictsort`.
pub fn dict_sort(value: &Value, given: &Arguments, run: &mut Run) -> Result<Value> {
    let [exact, by, reverse] = given.bound(["case_sensitive", "by", "reverse"])?;
    let at = match &by {
        None => 0,
        Some(Value::Text(text)) if text.is("key") => 0,
        Some(Value::Text(text)) if text.is("value") => 1,
        Some(_) => return refused("ValueError: You can only sort by either \"key\" or \"value\""),
    };
    let dict = match value {
        Value::Dict(dict) => dict,
        other => return ill_typed("the pairs", other.kind()),
    };
    charge_sort(dict.len(), run)?;
    let getter = Getter::plain(None)?.folded(!truth(&exact, run));
    let pairs = (0..dict.len()).map(|row| ViewKind::Items.item(dict, row)).collect();
    let reverse = truth(&reverse, run);
    sorted_by(pairs, run, reverse, |pair, run| match pair {
        Value::Tuple(pair) => weighed(getter.get(&pair.items()[at], run)?, run),
        other => Ok(other.clone()),
    })
}

/// `min` and `max`: the first of the best.
pub fn extreme(value: &Value, given: &Arguments, run: &mut Run, best: Comparison) -> Result<Value> {
    let [exact, attribute] = given.bound(["case_sensitive", "attribute"])?;
    let held = collected(value, run)?;
    if held.is_empty() {
        return Ok(Value::undefined("No aggregated item, sequence was empty."));
    }
    let getter = Getter::plain(attribute.as_ref())?.folded(!truth(&exact, run));
    let mut rows = Vec::with_capacity(held.len());
    for item in held {
        rows.push((weighed(getter.get(&item, run)?, run)?, item));
    }
    let mut found: Option<(Value, Value)> = None;
    for (key, item) in rows {
        let better = match &found {
            None => true,
            Some((known, _)) => ordered(best, &key, known).or_else(|_| no_order())?,
        };
        if better {
            found = Some((key, item));
        }
    }
    Ok(found.map_or(Value::None, |row| row.1))
}
