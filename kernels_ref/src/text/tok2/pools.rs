//! The four pools of a TOK2 block under a strict reader, and the order in which they are used.

use super::patterns;
use super::section::Section;
use crate::error::{ensure, Result};
use crate::text::charsmap::Charsmap;
use crate::text::pattern::node::Node;
use crate::text::scalars::END;
use crate::text::sets::Range;
use crate::text::tables::{Classes, Compositions, Map, Runs};
use crate::text::vocabulary::entry;

const LONGEST_STRING: usize = 1 << 20;
const MOST_GROUPS: u32 = 1 << 16;

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

/// A character table.
#[derive(Clone, Copy)]
pub enum Table<'a> {
    /// Kind 1.
    Map(Map<'a>),
    /// Kind 2.
    Classes(Classes<'a>),
    /// Kind 3.
    Compositions(Compositions<'a>),
    /// Kind 4.
    Runs(Runs<'a>),
    /// Kind 5.
    Charsmap(Charsmap<'a>),
}

impl Table<'_> {
    /// Its number in the format.
    pub fn kind(&self) -> u32 {
        match self {
            Table::Map(_) => 1,
            Table::Classes(_) => 2,
            Table::Compositions(_) => 3,
            Table::Runs(_) => 4,
            Table::Charsmap(_) => 5,
        }
    }
}

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
    pub fn read(sections: [Section<'a>; 4]) -> Result<Pools<'a>> {
        let mut pools = Pools {
            strings: strings(&sections[0])?,
            sets: sets(&sections[1])?,
            tables: tables(&sections[2])?,
            patterns: Vec::new(),
            node_uses: Vec::new(),
            sections,
        };
        let read = patterns::read(&sections[3], &pools.strings, &mut pools.sets)?;
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
        let code = crate::error::Code::Tok2Pools;
        for (pool, number, place) in uses {
            let next = &mut seen[pool as usize];
            ensure(number <= *next, || {
                super::section::refused(code, place, format!("{} before {}", number, next))
            })?;
            *next = (*next).max(number + 1);
        }
        for pool in [Pool::Strings, Pool::Sets, Pool::Tables, Pool::Patterns] {
            let (size, used) = (self.size(pool), seen[pool as usize]);
            let place = self.sections[pool as usize].offset;
            ensure(size == used as usize, || {
                super::section::refused(code, place, format!("{} members, {} used", size, used))
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

fn tables<'a>(section: &Section<'a>) -> Result<Vec<Table<'a>>> {
    section.need(16, 0)?;
    let count = section.u32(0) as usize;
    section.zeros(4, 12)?;
    section.need(16 + 16 * count as u64, 0)?;
    let mut at = 16 + 16 * count;
    let mut out = Vec::with_capacity(count);
    let mut raw = Vec::with_capacity(count);
    for i in 0..count {
        let place = 16 + 16 * i;
        let [kind, offset, length, reserved] =
            [0, 4, 8, 12].map(|field| section.u32(place + field) as usize);
        section.ensure((1..=5).contains(&kind), place, "an unknown kind of table")?;
        section.ensure(offset == at, place + 4, "a table begins elsewhere")?;
        let inside = at as u64 + length as u64 <= section.bytes.len() as u64;
        section.ensure(length % 4 == 0 && inside, place + 8, "the length of a table")?;
        section.ensure(reserved == 0, place + 12, "a reserved field")?;
        let data = Section {
            bytes: &section.bytes[at..at + length],
            offset: section.offset + at,
            code: section.code,
        };
        out.push(table(&data, kind)?);
        raw.push((kind, data.bytes));
        at += length;
    }
    section.exactly(at as u64, 0)?;
    section.unlike(&raw, |i| 16 + 16 * i)?;
    Ok(out)
}

fn table<'a>(data: &Section<'a>, kind: usize) -> Result<Table<'a>> {
    Ok(match kind {
        1 => Table::Map(map(data)?),
        2 => Table::Classes(classes(data)?),
        3 => Table::Compositions(compositions(data)?),
        4 => Table::Runs(runs(data)?),
        _ => Table::Charsmap(charsmap(data)?),
    })
}

/// Refuse a number that is no scalar.
fn scalar(data: &Section, at: usize, code: u32) -> Result<()> {
    let good = code < END && !(0xd800..0xe000).contains(&code);
    data.ensure(good, at, "no Unicode scalar")
}

fn scalars(data: &Section, at: usize, count: usize) -> Result<()> {
    let mut numbers = data.numbers(at, count).enumerate();
    numbers.try_for_each(|(i, code)| scalar(data, at + 4 * i, code))
}

fn map<'a>(data: &Section<'a>) -> Result<Map<'a>> {
    let counts = (data.bytes.len() >= 8).then(|| (data.u32(0) as usize, data.u32(4) as usize));
    let wanted = counts.map(|(keys, total)| 8 + 8 * keys as u64 + 4 * total as u64);
    data.ensure(wanted == Some(data.bytes.len() as u64), 0, "the length of a map")?;
    let (keys, total) = counts.unwrap_or((0, 0));
    let (ends, texts) = (8 + 4 * keys, 8 + 8 * keys);
    let map = Map {
        keys: &data.bytes[8..ends],
        ends: &data.bytes[ends..texts],
        scalars: &data.bytes[texts..],
    };
    scalars(data, 8, keys)?;
    for i in 1..keys {
        let rises = entry(map.keys, i) > entry(map.keys, i - 1);
        data.ensure(rises, 8 + 4 * i, "keys do not ascend")?;
    }
    let mut before = 0;
    for i in 0..keys {
        let end = entry(map.ends, i);
        data.ensure(end > before, ends + 4 * i, "ends do not ascend")?;
        before = end;
    }
    data.ensure(before as usize == total, 4, "the total of a map")?;
    scalars(data, texts, total)?;
    Ok(map)
}

fn classes<'a>(data: &Section<'a>) -> Result<Classes<'a>> {
    let count = data.bytes.len() / 4;
    for (i, row) in data.numbers(0, count).enumerate() {
        scalar(data, 4 * i, row >> 8)?;
    }
    for i in 1..count {
        let rises = data.u32(4 * i) >> 8 > data.u32(4 * i - 4) >> 8;
        data.ensure(rises, 4 * i, "scalars do not ascend")?;
    }
    for (i, row) in data.numbers(0, count).enumerate() {
        data.ensure(row & 0xff != 0, 4 * i, "a class of 0")?;
    }
    Ok(Classes(data.bytes))
}

fn compositions<'a>(data: &Section<'a>) -> Result<Compositions<'a>> {
    data.ensure(data.bytes.len() % 12 == 0, 0, "the length of compositions")?;
    scalars(data, 0, data.bytes.len() / 4)?;
    let pair = |i: usize| (data.u32(12 * i), data.u32(12 * i + 4));
    for i in 1..data.bytes.len() / 12 {
        data.ensure(pair(i) > pair(i - 1), 12 * i, "pairs do not ascend")?;
    }
    Ok(Compositions(data.bytes))
}

fn runs<'a>(data: &Section<'a>) -> Result<Runs<'a>> {
    let count = data.bytes.len() / 8;
    let whole = data.bytes.len() % 8 == 0 && count > 0 && data.u32(8 * count - 8) == END;
    data.ensure(whole, 0, "runs do not end with the last scalar")?;
    for i in 1..count {
        let (before, end) = (data.u32(8 * i - 8), data.u32(8 * i));
        data.ensure(end > before && before > 0, 8 * i, "ends do not ascend")?;
    }
    for i in 0..count {
        let group = data.u32(8 * i + 4);
        let other = i == 0 || data.u32(8 * i - 4) != group;
        data.ensure(group <= MOST_GROUPS && other, 8 * i + 4, "the group of a run")?;
    }
    Ok(Runs(data.bytes))
}

fn charsmap<'a>(data: &Section<'a>) -> Result<Charsmap<'a>> {
    let counts = (data.bytes.len() >= 8).then(|| (data.u32(0) as usize, data.u32(4) as usize));
    let (units, length) = counts.unwrap_or((0, 0));
    let wanted = 8 + 4 * units as u64 + (length as u64 + 3) / 4 * 4;
    let good = units > 0 && length > 0 && wanted == data.bytes.len() as u64;
    data.ensure(good, 0, "the length of a charsmap")?;
    let start = 8 + 4 * units;
    let (texts, padding) = data.bytes[start..].split_at(length);
    data.ensure(padding.iter().all(|&byte| byte == 0), start + length, "padding is not zero")?;
    if let Err(error) = std::str::from_utf8(texts) {
        return Err(data.fault(start + error.valid_up_to(), "the texts are no UTF-8"));
    }
    data.ensure(texts[length - 1] == 0, start + length - 1, "the texts have no end")?;
    Ok(Charsmap { units: &data.bytes[8..start], texts })
}
