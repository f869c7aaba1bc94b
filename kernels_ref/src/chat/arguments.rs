//! Arguments of filters, functions and methods, given to parameters by place or by name.

use std::rc::Rc;

use crate::chat::error::{ill_typed, refused};
use crate::chat::printing::quoted;
use crate::chat::value::Value;
use crate::error::Result;

/// What a call was given.
#[derive(Clone, Default)]
pub struct Arguments {
    /// By place.
    pub args: Vec<Value>,
    /// By name.
    pub named: Vec<(Rc<str>, Value)>,
}

impl Arguments {
    /// One value for each parameter, None where it was not given.
    pub fn bound<const N: usize>(&self, names: [&str; N]) -> Result<[Option<Value>; N]> {
        let mut found: [Option<Value>; N] = std::array::from_fn(|_| None);
        if self.args.len() > N {
            return refused(format!("TypeError: {} arguments, at most {}", self.args.len(), N));
        }
        for (place, value) in found.iter_mut().zip(&self.args) {
            *place = Some(value.clone());
        }
        for (name, value) in &self.named {
            match names.iter().position(|known| **known == **name) {
                Some(at) if found[at].is_none() => found[at] = Some(value.clone()),
                _ => return unknown(name),
            }
        }
        Ok(found)
    }

    /// As `bound`, for parameters that have no names.
    pub fn placed<const N: usize>(&self) -> Result<[Option<Value>; N]> {
        match self.named.first() {
            Some((name, _)) if self.args.len() <= N => unknown(name),
            _ => Arguments { args: self.args.clone(), named: Vec::new() }.bound([""; N]),
        }
    }

    /// The deepest of all values.
    pub fn depth(&self) -> usize {
        let named = self.named.iter().map(|row| &row.1);
        self.args.iter().chain(named).map(Value::depth).max().unwrap_or(0)
    }
}

/// An argument that no parameter takes.
pub fn unknown<T>(name: &str) -> Result<T> {
    refused(format!("TypeError: the argument {}", quoted(name)))
}

/// A parameter that must be given.
pub fn required(value: Option<Value>, name: &str) -> Result<Value> {
    match value {
        Some(value) => Ok(value),
        None => refused(format!("TypeError: the argument '{}' is missing", name)),
    }
}

/// An integer, or the default.
pub fn integer(value: Option<Value>, default: i128) -> Result<i128> {
    match value {
        None => Ok(default),
        Some(value) => match value.as_int() {
            Some(value) => Ok(value),
            None => ill_typed("an integer", value.kind()),
        },
    }
}

/// A count for lengths and places: beyond 64 bits it is none.
pub fn place(value: Option<Value>, default: i64) -> Result<i64> {
    match i64::try_from(integer(value, default.into())?) {
        Ok(value) => Ok(value),
        Err(_) => refused("OverflowError: the integer is too large for a place"),
    }
}
