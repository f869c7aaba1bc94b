//! One field of the section: its value read by the type and the range that it must have.

use crate::bytes::reserve;
use crate::cbor::{Item, Reader};
use crate::error::{ensure, Code, Error, Result};

/// The largest token id, window and context.
const MAX_COUNT: u64 = 0x7fff_ffff;

/// A broken rule of a field.
pub fn broken(name: &str, detail: impl Into<String>) -> Error {
    Error::new(Code::ConfigField, format!("configuration.{}", name), detail)
}

/// The value that stands next in the section, and the field it belongs to.
pub struct Field<'r, 'a> {
    /// Stands in front of the value.
    pub reader: &'r mut Reader<'a>,
    /// The key.
    pub name: &'static str,
}

impl<'a> Field<'_, 'a> {
    fn broken(&self, detail: impl Into<String>) -> Error {
        broken(self.name, detail)
    }

    fn ill_typed(&self, item: Item<'_>, wanted: &str) -> Error {
        self.broken(format!("{}, expected {}", item.kind(), wanted))
    }

    /// An integer from `least` to `most`, which is below 2^31.
    pub fn size(&mut self, least: u32, most: u32) -> Result<usize> {
        match self.reader.item()? {
            Item::Unsigned(value) => {
                let fits = (u64::from(least)..=u64::from(most)).contains(&value);
                let detail = || self.broken(format!("{} is not in {} to {}", value, least, most));
                ensure(fits, detail)?;
                Ok(value as usize)
            }
            other => Err(self.ill_typed(other, "an integer")),
        }
    }

    /// A window of at least one key, or null.
    pub fn optional_window(&mut self) -> Result<Option<usize>> {
        match self.reader.item()? {
            Item::Null => Ok(None),
            Item::Unsigned(value @ 1..=MAX_COUNT) => Ok(Some(value as usize)),
            other => Err(self.ill_typed(other, "an integer of 1 to 2^31 - 1, or null")),
        }
    }

    fn float_of(&self, item: Item<'_>) -> Result<f32> {
        match item {
            Item::Float(value) if f64::from(value as f32) == value => Ok(value as f32),
            other => Err(self.ill_typed(other, "a float32 value")),
        }
    }

    /// A float32 value.
    pub fn float(&mut self) -> Result<f32> {
        let item = self.reader.item()?;
        self.float_of(item)
    }

    /// A float32 value above 0.
    pub fn positive(&mut self) -> Result<f32> {
        let value = self.float()?;
        ensure(value > 0.0, || self.broken("is not above 0"))?;
        Ok(value)
    }

    /// A float32 value above 0, or null.
    pub fn optional_positive(&mut self) -> Result<Option<f32>> {
        let item = self.reader.item()?;
        if item == Item::Null {
            return Ok(None);
        }
        let value = self.float_of(item)?;
        ensure(value > 0.0, || self.broken("is not above 0"))?;
        Ok(Some(value))
    }

    /// true or false.
    pub fn flag(&mut self) -> Result<bool> {
        match self.reader.item()? {
            Item::Bool(value) => Ok(value),
            other => Err(self.ill_typed(other, "true or false")),
        }
    }

    /// A text.
    pub fn text(&mut self) -> Result<&'a str> {
        match self.reader.item()? {
            Item::Text(value) => Ok(value),
            other => Err(self.ill_typed(other, "a text")),
        }
    }

    /// One of these texts, as the value it stands for.
    pub fn choice<T: Copy>(&mut self, known: &[(&str, T)]) -> Result<T> {
        let text = self.text()?;
        let found = known.iter().find(|(name, _)| *name == text);
        found.map(|&(_, value)| value).ok_or_else(|| {
            let place = format!("configuration.{}", self.name);
            Error::new(Code::ConfigUnsupported, place, format!("{:?} is not computed", text))
        })
    }

    /// A token id or null; the runtime has no use for it.
    pub fn optional_token(&mut self) -> Result<()> {
        match self.reader.item()? {
            Item::Null | Item::Unsigned(0..=MAX_COUNT) => Ok(()),
            other => Err(self.ill_typed(other, "a token id or null")),
        }
    }

    fn array(&mut self) -> Result<u64> {
        match self.reader.item()? {
            Item::Array(len) => Ok(len),
            other => Err(self.ill_typed(other, "a list")),
        }
    }

    /// A list of token ids; the runtime has no use for them.
    pub fn tokens(&mut self) -> Result<()> {
        for _ in 0..self.array()? {
            match self.reader.item()? {
                Item::Unsigned(0..=MAX_COUNT) => (),
                other => return Err(self.ill_typed(other, "token ids")),
            }
        }
        Ok(())
    }

    /// A list of at most `most` values, each read by `read`.
    pub fn list<T>(
        &mut self,
        most: usize,
        mut read: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let len = self.array()?;
        ensure(len <= most as u64, || self.broken(format!("{} values, at most {}", len, most)))?;
        let mut values = Vec::new();
        reserve(&mut values, len as usize)?;
        for _ in 0..len {
            values.push(read(self)?);
        }
        Ok(values)
    }
}
