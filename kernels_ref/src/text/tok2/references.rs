//! References of one section, looked up and noted for the walk of the pools.

use super::pools::{Pool, Pools, Use};
use super::section::{Section, NONE};
use super::tables::Table;
use crate::error::Result;
use crate::text::scalars::END;

/// Counts stay below this.
pub const COUNT_LIMIT: u32 = 1 << 31;

/// A section whose numbers name members of pools.
pub struct References<'r, 'a> {
    /// The section.
    pub section: Section<'a>,
    /// What references lead to.
    pub pools: &'r Pools<'a>,
    /// The references so far.
    pub uses: Vec<Use>,
}

impl<'r, 'a> References<'r, 'a> {
    /// None so far.
    pub fn new(section: Section<'a>, pools: &'r Pools<'a>) -> References<'r, 'a> {
        References { section, pools, uses: Vec::new() }
    }

    /// The member that the number at a byte of the section names.
    pub fn take(&mut self, pool: Pool, at: usize) -> Result<usize> {
        let number = self.section.u32(at);
        self.section.ensure(self.pools.has(pool, number), at, "a reference to no member")?;
        self.uses.push((pool, number, self.section.offset + at));
        Ok(number as usize)
    }

    /// The same, or none.
    pub fn optional(&mut self, pool: Pool, at: usize) -> Result<Option<usize>> {
        match self.section.u32(at) {
            NONE => Ok(None),
            _ => self.take(pool, at).map(Some),
        }
    }

    /// The text that is named.
    pub fn text(&mut self, at: usize) -> Result<&'a [u8]> {
        self.take(Pool::Strings, at).map(|number| self.pools.strings[number])
    }

    /// The table that is named, of one kind.
    pub fn table(&mut self, kind: u32, at: usize) -> Result<Table<'a>> {
        let table = self.pools.tables[self.take(Pool::Tables, at)?];
        self.section.ensure(table.kind() == kind, at, "a table of another kind")?;
        Ok(table)
    }

    /// A scalar.
    pub fn scalar(&self, at: usize) -> Result<u32> {
        let code = self.section.u32(at);
        let good = code < END && !(0xd800..0xe000).contains(&code);
        self.section.ensure(good, at, "no Unicode scalar")?;
        Ok(code)
    }

    /// A number of some choices.
    pub fn choice(&self, count: u32, at: usize) -> Result<u32> {
        let number = self.section.u32(at);
        self.section.ensure(number < count, at, "an unknown choice")?;
        Ok(number)
    }

    /// A count of at least so much.
    pub fn count(&self, least: u32, at: usize) -> Result<u32> {
        let number = self.section.u32(at);
        self.section.ensure((least..COUNT_LIMIT).contains(&number), at, "a count")?;
        Ok(number)
    }
}
