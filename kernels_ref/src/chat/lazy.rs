//! Walking over values, and sequences that give their items one by one, once.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::chat::arguments::Arguments;
use crate::chat::error::{ill_typed, refused};
use crate::chat::filters;
use crate::chat::is_tests;
use crate::chat::key::{key_of, Key};
use crate::chat::lookup::Getter;
use crate::chat::state::Run;
use crate::chat::value::{Value, ViewKind};
use crate::error::Result;

/// A place within a value that is being walked.
pub enum Walk {
    /// From the first item on: the value, the next place, the length.
    Forward(Value, usize, usize),
    /// From the last item back: the value and how many are left.
    Backward(Value, usize),
    /// A sequence that is made item by item.
    Lazy(Rc<Lazy>),
}

/// Length of what has places.
fn places(value: &Value) -> Option<usize> {
    Some(match value {
        Value::Undefined(_) => 0,
        Value::Text(text) => text.len(),
        Value::List(list) | Value::Tuple(list) => list.len(),
        Value::Dict(dict) | Value::View(_, dict) => dict.len(),
        Value::Range(range) => range.len,
        _ => return None,
    })
}

/// The item at a place that exists.
fn item_at(value: &Value, at: usize) -> Result<Value> {
    Ok(match value {
        Value::Text(text) => Value::Text(text.slice(at..at + 1)?),
        Value::List(list) | Value::Tuple(list) => list.items()[at].clone(),
        Value::Dict(dict) => ViewKind::Keys.item(dict, at),
        Value::View(kind, dict) => kind.item(dict, at),
        Value::Range(range) => Value::int(range.nth(at)),
        _ => Value::None,
    })
}

impl Walk {
    /// Start at the first item.
    pub fn over(value: &Value) -> Result<Walk> {
        if let Value::Lazy(lazy) = value {
            return Ok(Walk::Lazy(Rc::clone(lazy)));
        }
        match places(value) {
            Some(len) => Ok(Walk::Forward(value.clone(), 0, len)),
            None => ill_typed("a walk", value.kind()),
        }
    }

    /// Start at the last item; None where the value has no order to be turned round.
    pub fn back(value: &Value) -> Option<Walk> {
        places(value).map(|len| Walk::Backward(value.clone(), len))
    }

    /// The next item.
    pub fn next(&mut self, run: &mut Run) -> Result<Option<Value>> {
        match self {
            Walk::Forward(value, at, len) => {
                *at += 1;
                if *at > *len {
                    return Ok(None);
                }
                item_at(value, *at - 1).map(Some)
            }
            Walk::Backward(value, left) => match left.checked_sub(1) {
                None => Ok(None),
                Some(at) => {
                    *left = at;
                    item_at(value, at).map(Some)
                }
            },
            Walk::Lazy(lazy) => Rc::clone(lazy).next(run),
        }
    }

    /// The next item, a step of the budget.
    pub fn step(&mut self, run: &mut Run) -> Result<Option<Value>> {
        let item = self.next(run)?;
        if item.is_some() {
            run.budget.charge(1)?;
        }
        Ok(item)
    }
}

/// All items, each a step.
pub fn collected(value: &Value, run: &mut Run) -> Result<Vec<Value>> {
    let mut walk = Walk::over(value)?;
    let mut items = Vec::new();
    while let Some(item) = walk.step(run)? {
        items.push(item);
    }
    Ok(items)
}

/// What happens to each item of the source.
pub enum Each {
    /// It is given as it is, without a step.
    Backward,
    /// A pair of an object.
    Pair,
    /// A field of it.
    Field(Getter),
    /// `map`, with whatever it was given.
    Map(Arguments),
    /// `select` and its kin.
    Choose { wanted: bool, by_field: bool, args: Vec<Value> },
    /// The first of all that are equal.
    Unique { getter: Getter, seen: BTreeSet<Key> },
    /// Nothing comes any more.
    Done,
}

struct Going {
    source: Value,
    walk: Option<Walk>,
    each: Each,
}

/// True, without length, walked once. Nothing of it happens before the first item is asked for.
pub struct Lazy {
    going: RefCell<Going>,
    /// One more than that of the deepest value that it holds.
    pub depth: usize,
}

impl Lazy {
    /// From its source; `held` are the further values that it holds.
    pub fn start(source: &Value, each: Each, held: usize) -> Value {
        let depth = 1 + source.depth().max(held);
        let going = Going { source: source.clone(), walk: None, each };
        Value::Lazy(Rc::new(Lazy { going: RefCell::new(going), depth }))
    }

    /// A sequence from the last item on; None where the value has no order.
    pub fn backward(source: &Value) -> Option<Value> {
        let walk = Walk::back(source)?;
        let going = Going { source: Value::None, walk: Some(walk), each: Each::Backward };
        let depth = 1 + source.depth();
        Some(Value::Lazy(Rc::new(Lazy { going: RefCell::new(going), depth })))
    }

    fn next(&self, run: &mut Run) -> Result<Option<Value>> {
        match self.going.try_borrow_mut() {
            Ok(mut going) => going.next(run),
            Err(_) => refused("ValueError: the sequence is being walked"),
        }
    }
}

impl Going {
    fn next(&mut self, run: &mut Run) -> Result<Option<Value>> {
        if matches!(self.each, Each::Done) {
            return Ok(None);
        }
        if self.walk.is_none() && !self.begin(run)? {
            self.each = Each::Done;
            return Ok(None);
        }
        while let Some(walk) = self.walk.as_mut() {
            let backward = matches!(self.each, Each::Backward);
            let item = if backward { walk.next(run)? } else { walk.step(run)? };
            match item {
                None => break,
                Some(item) => {
                    if let Some(made) = self.each.made_of(item, run)? {
                        return Ok(Some(made));
                    }
                }
            }
        }
        self.each = Each::Done;
        Ok(None)
    }

    /// Look at the source and the arguments; false where there is nothing to walk.
    fn begin(&mut self, run: &Run) -> Result<bool> {
        let skips_empty = matches!(self.each, Each::Map(_) | Each::Choose { .. });
        if skips_empty && !run.truth(&self.source) {
            return Ok(false);
        }
        match &mut self.each {
            Each::Pair => match &self.source {
                Value::Undefined(_) => return Ok(false),
                Value::Dict(dict) => {
                    let pairs = Value::View(ViewKind::Items, Rc::clone(dict));
                    self.walk = Some(Walk::over(&pairs)?);
                    return Ok(true);
                }
                _ => return refused("TypeError: Can only get item pairs from a mapping."),
            },
            Each::Map(given) if given.args.is_empty() => {
                let getter = filters::field_of_map(given)?;
                self.each = Each::Field(getter);
            }
            Each::Choose { by_field: true, args, .. } if args.is_empty() => {
                return refused("Missing parameter for attribute name");
            }
            _ => {}
        }
        self.walk = Some(Walk::over(&self.source)?);
        Ok(true)
    }
}

impl Each {
    /// What is given for an item, if anything.
    fn made_of(&mut self, item: Value, run: &mut Run) -> Result<Option<Value>> {
        match self {
            Each::Backward | Each::Pair => Ok(Some(item)),
            Each::Field(getter) => getter.get(&item, run).map(Some),
            Each::Map(given) => filters::mapped(item, given, run).map(Some),
            Each::Choose { wanted, by_field, args } => {
                let getter = Getter::plain(if *by_field { args.first() } else { None })?;
                let rest = args.get(usize::from(*by_field)..).unwrap_or(&[]);
                let tested = getter.get(&item, run)?;
                let holds = match rest.split_first() {
                    None | Some((Value::None, _)) => tested,
                    Some((name, rest)) => is_tests::by_value(name, &tested, rest, run)?,
                };
                Ok(Some(item).filter(|_| run.truth(&holds) == *wanted))
            }
            Each::Unique { getter, seen } => {
                let found = getter.get(&item, run)?;
                let key = match key_of(&found)? {
                    Some(key) => key,
                    None => return ill_typed("a key", found.kind()),
                };
                run.budget.weigh(&found)?;
                Ok(Some(item).filter(|_| seen.insert(key)))
            }
            Each::Done => Ok(None),
        }
    }
}
