//! The four pools of a TOK2 block under a strict reader, and the order in which they are used.

use super::section::{refused, Section};
use super::tables::Table;
use super::{patterns, tables};
use crate::error::{ensure, Code, Result};
use crate::text::pattern::node::Node;
use crate::text::scalars::END;
use crate::text::sets::Range;

const LONGEST_STRING: usize = 1 << 20;

/// The members of a pool are named by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    /// Texts.
    Strings,
    /// Sets of scalars.
    Sets,
    /// Character tables.
    Tables,
    /// Patterns.
    Patterns,
}

/// A reference: pool, number, and the byte of the block where it stands.
pub type Use = (Pool, u32, usize);

/// All four pools.
pub struct Pools<'a> {
    /// Section 1.
    pub strings: Vec<&'a [u8]>,
    /// Section 2.
    pub sets: Vec<Vec<Range>>,
    /// Section 3.
    pub tables: Vec<Table<'a>>,
    /// Section 4: trees, and the references of their nodes.
    pub patterns: Vec<Node>,
    /// What the nodes refer to.
    pub node_uses: Vec<Use>,
    sections: [Section<'a>; 4],
}

impl<'a> Pools<'a> {
    /// Rules 12 to 15.
    pub fn read(sections: [Section<'a>; 4], profile: u32) -> Result<Pools<'a>> {
        let mut pools = Pools {
            strings: strings(&sections[0])?,
            sets: sets(&sections[1])?,
            tables: tables::read(&sections[2])?,
            patterns: Vec::new(),
            node_uses: Vec::new(),
            sections,
        };
        let read = patterns::read(&sections[3], &pools.strings, &mut pools.sets, profile)?;
        pools.patterns = read.trees;
        pools.node_uses = read.uses;
        Ok(pools)
    }

    /// Number of members; sets that literals were read as are none of the file's.
    fn size(&self, pool: Pool) -> usize {
        match pool {
            Pool::Strings => self.strings.len(),
            Pool::Sets => self.sections[1].u32(0) as usize,
            Pool::Tables => self.tables.len(),
            Pool::Patterns => self.patterns.len(),
        }
    }

    /// Whether a number is one of a pool.
    pub fn has(&self, pool: Pool, number: u32) -> bool {
        (number as usize) < self.size(pool)
    }

    /// Rule 25: members stand in the order in which they are first referred to.
    pub fn require_order(&self, uses: impl Iterator<Item = Use>) -> Result<()> {
        let mut seen = [0u32; 4];
        for (pool, number, place) in uses {
            let next = &mut seen[pool as usize];
            ensure(number <= *next, || {
                refused(Code::Tok2Pools, place, format!("{} before {}", number, next))
            })?;
            *next = (*next).max(number + 1);
        }
        for pool in [Pool::Strings, Pool::Sets, Pool::Tables, Pool::Patterns] {
            let (size, used) = (self.size(pool), seen[pool as usize]);
            let place = self.sections[pool as usize].offset;
            ensure(size == used as usize, || {
                refused(Code::Tok2Pools, place, format!("{} members, {} used", size, used))
            })?;
        }
        Ok(())
    }
}

fn strings<'a>(section: &Section<'a>) -> Result<Vec<&'a [u8]>> {
    let ends = section.ends()?;
    let first = 4 + 4 * ends.len();
    section.exactly((first + ends.last().unwrap_or(&0)) as u64, first - 4)?;
    let mut out = Vec::with_capacity(ends.len());
    let mut start = 0;
    for (i, &end) in ends.iter().enumerate() {
        section.ensure(end - start <= LONGEST_STRING, 4 + 4 * i, "a string is too long")?;
        let text = &section.bytes[first + start..first + end];
        if let Err(error) = std::str::from_utf8(text) {
            let at = first + start + error.valid_up_to();
            return Err(section.fault(at, "a string is no UTF-8"));
        }
        out.push(text);
        start = end;
    }
    section.unlike(&out, |i| 4 + 4 * i)?;
    Ok(out)
}

fn sets(section: &Section) -> Result<Vec<Vec<Range>>> {
    let ends = section.ends()?;
    let first = 4 + 4 * ends.len();
    section.exactly(first as u64 + 8 * *ends.last().unwrap_or(&0) as u64, first - 4)?;
    let mut out = Vec::with_capacity(ends.len());
    let mut start = 0;
    for &end in &ends {
        let mut ranges: Vec<Range> = Vec::with_capacity(end - start);
        for i in start..end {
            let at = first + 8 * i;
            let (low, high) = (section.u32(at), section.u32(at + 4));
            let apart = ranges.last().map_or(true, |before| low > before.1 + 1);
            section.ensure(apart, at, "a range touches the one before it")?;
            section.ensure(low <= high && high < END, at + 4, "the end of a range")?;
            ranges.push((low, high));
        }
        out.push(ranges);
        start = end;
    }
    section.unlike(&out, |i| 4 + 4 * i)?;
    Ok(out)
}
