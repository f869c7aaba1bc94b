//! The fields of a node of a compiled template, read by kind.

use std::rc::Rc;

use crate::cbor::{Item, Reader};
use crate::chat::ir::{Given, Index, Name};
use crate::chat::read_ir::malformed;
use crate::chat::text::{Text, TEMPLATE};
use crate::chat::value::Value;
use crate::error::{ensure, Result};

/// The fields of one node, taken one after the other.
pub struct Row<'r, 'a> {
    reader: &'r mut Reader<'a>,
    place: &'r str,
    /// How many were taken.
    pub taken: u64,
}

impl<'r, 'a> Row<'r, 'a> {
    pub fn new(reader: &'r mut Reader<'a>, place: &'r str) -> Row<'r, 'a> {
        Row { reader, place, taken: 0 }
    }

    pub fn wrong<T>(&self, what: &str) -> Result<T> {
        Err(malformed(self.place, format!("field {}: {}", self.taken, what)))
    }

    pub fn item(&mut self) -> Result<Item<'a>> {
        self.taken += 1;
        self.reader.item()
    }

    pub fn count(&mut self) -> Result<u64> {
        match self.item()? {
            Item::Unsigned(value) => Ok(value),
            other => self.wrong(other.kind()),
        }
    }

    pub fn index(&self, value: u64) -> Result<Index> {
        match Index::try_from(value) {
            Ok(value) => Ok(value),
            Err(_) => self.wrong("no index"),
        }
    }

    pub fn node(&mut self) -> Result<Index> {
        let value = self.count()?;
        self.index(value)
    }

    pub fn maybe(&mut self) -> Result<Option<Index>> {
        match self.item()? {
            Item::Null => Ok(None),
            Item::Unsigned(value) => self.index(value).map(Some),
            other => self.wrong(other.kind()),
        }
    }

    /// A list; each element is read by `read`.
    pub fn each<T>(&mut self, read: impl Fn(&Self, Item<'a>) -> Result<T>) -> Result<Vec<T>> {
        let len = match self.item()? {
            Item::Array(len) => len,
            other => return self.wrong(other.kind()),
        };
        let mut made = Vec::new();
        for _ in 0..len {
            let item = self.reader.item()?;
            made.push(read(self, item)?);
        }
        Ok(made)
    }

    pub fn nodes(&mut self) -> Result<Vec<Index>> {
        self.each(|row, item| match item {
            Item::Unsigned(value) => row.index(value),
            other => row.wrong(other.kind()),
        })
    }

    pub fn text(&mut self) -> Result<Name> {
        match self.item()? {
            Item::Text(text) => Ok(Rc::from(text)),
            other => self.wrong(other.kind()),
        }
    }

    pub fn texts(&mut self) -> Result<Vec<Name>> {
        self.each(|row, item| match item {
            Item::Text(text) => Ok(Rc::from(text)),
            other => row.wrong(other.kind()),
        })
    }

    pub fn flags(&mut self) -> Result<Vec<bool>> {
        self.each(|row, item| match item {
            Item::Bool(flag) => Ok(flag),
            other => row.wrong(other.kind()),
        })
    }

    pub fn constant(&mut self) -> Result<Value> {
        Ok(match self.item()? {
            Item::Null => Value::None,
            Item::Bool(held) => Value::Bool(held),
            Item::Unsigned(held) => Value::int(held.into()),
            Item::Negative(held) => Value::int(-1 - i128::from(held)),
            Item::Float(held) => Value::float(held),
            Item::Text(text) => Value::Text(Text::from_str(text, TEMPLATE)),
            other => return self.wrong(other.kind()),
        })
    }

    pub fn given(&mut self) -> Result<Given> {
        let given = Given { args: self.nodes()?, names: self.texts()?, values: self.nodes()? };
        self.sound(given.names.len() == given.values.len())?;
        Ok(given)
    }

    pub fn sound(&self, holds: bool) -> Result<()> {
        ensure(holds, || malformed(self.place, "a name or count outside the language"))
    }

    pub fn known(&mut self, known: fn(&str) -> bool) -> Result<Name> {
        let name = self.text()?;
        self.sound(known(&name))?;
        Ok(name)
    }
}
