//! The character tables of a TOK2 block under a strict reader.

use super::section::Section;
use crate::error::Result;
use crate::text::charsmap::Charsmap;
use crate::text::scalars::END;
use crate::text::tables::{Classes, Compositions, Map, Runs};
use crate::text::vocabulary::entry;

const MOST_GROUPS: u32 = 1 << 16;

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

/// Section 3.
pub fn read<'a>(section: &Section<'a>) -> Result<Vec<Table<'a>>> {
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
