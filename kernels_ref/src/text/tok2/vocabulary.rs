//! Tokens, their order, index, merges and scores under a strict reader.

use super::frame::{log2, Frame, Kind};
use super::section::{Section, NONE};
use crate::bytes::u64_at;
use crate::error::Result;
use crate::text::crc32::Crc;
use crate::text::models::merging::{pair_bucket, Merges};
use crate::text::vocabulary::{bucket, entry, Vocabulary, Walk, BLOCK};

const LONGEST_TOKEN: usize = 65_535;
/// Bytes of all tokens together; front coding stands for far more than it takes.
const MOST_BYTES: usize = 1 << 26;

/// Rules 19 to 21.
pub fn read<'a>(frame: &Frame<'a>) -> Result<Vocabulary<'a>> {
    let (tokens, order, index) = (frame.section(8), frame.section(9), frame.section(10));
    let count = frame.tokens;
    let blocks = (count + BLOCK - 1) / BLOCK;
    tokens.need(4 * (blocks as u64 + 1), 0)?;
    let (starts, data) = tokens.bytes.split_at(4 * (blocks + 1));
    let (ids, positions) = order.bytes.split_at(4 * count);
    let log = log2(count / 2);
    let (buckets, rest) = index.bytes.split_at(4 * ((1 << log) + 1));
    let (entries, tags) = rest.split_at(4 * count);
    let mut vocabulary = Vocabulary {
        starts,
        blocks: data,
        ids,
        positions,
        buckets,
        entries,
        tags,
        log,
        longest: 0,
    };
    let end = entry(starts, blocks) as usize;
    tokens.ensure(end == data.len(), 4 * blocks, "the end of the blocks")?;
    let coded = Tokens { section: &tokens, starts, data, first: 4 * (blocks + 1) }.read(count)?;
    vocabulary.longest = coded.longest;
    check_order(&order, &vocabulary, frame.id_limit)?;
    check_index(&index, &vocabulary, &coded.hashes)?;
    Ok(vocabulary)
}

/// What one pass over the tokens tells.
struct Coded {
    hashes: Vec<u32>,
    longest: usize,
}

struct Tokens<'r, 'a> {
    section: &'r Section<'a>,
    starts: &'a [u8],
    data: &'a [u8],
    /// Where the blocks begin in the section.
    first: usize,
}

impl Tokens<'_, '_> {
    /// Strictly coded, ascending, UTF-8.
    fn read(&self, count: usize) -> Result<Coded> {
        let mut hashes = Vec::with_capacity(count);
        let (mut token, mut before) = (Vec::new(), Vec::new());
        let (mut longest, mut at, mut total, mut ill_formed) = (0, 0, 0, None);
        for position in 0..count {
            let whole = position % BLOCK == 0;
            let start = entry(self.starts, position / BLOCK) as usize;
            self.rule(!whole || start == at, at, "the start of a block")?;
            std::mem::swap(&mut token, &mut before);
            let begin = at;
            at = self.token(&before, &mut token, at, (position > 0).then_some(whole))?;
            total += token.len();
            self.rule(total <= MOST_BYTES, begin, "more bytes of tokens than allowed")?;
            if std::str::from_utf8(&token).is_err() {
                ill_formed = ill_formed.or(Some(position / BLOCK));
            }
            longest = longest.max(token.len());
            hashes.push(Crc::of(&token));
        }
        self.rule(at == self.data.len(), at, "the last block ends elsewhere")?;
        match ill_formed {
            Some(block) => Err(self.section.fault(4 * block, "a token is no UTF-8")),
            None => Ok(Coded { hashes, longest }),
        }
    }

    fn rule(&self, holds: bool, at: usize, detail: &str) -> Result<()> {
        self.section.ensure(holds, self.first + at, detail)
    }

    /// The token behind another, and where its bytes end; `whole` is None for the very first.
    fn token(
        &self,
        before: &[u8],
        token: &mut Vec<u8>,
        begin: usize,
        whole: Option<bool>,
    ) -> Result<usize> {
        let apart = whole.unwrap_or(true);
        let (shared, at) = if apart { (0, begin) } else { self.varint(begin)? };
        self.rule(shared <= before.len(), begin, "the shared length")?;
        let (rest, at) = self.varint(at)?;
        let inside = shared + rest <= LONGEST_TOKEN && at + rest <= self.data.len();
        self.rule(inside, begin, "the length of a token")?;
        token.clear();
        token.extend_from_slice(&before[..shared]);
        token.extend_from_slice(&self.data[at..at + rest]);
        if whole.is_some() {
            self.rule(&token[..] > before, begin, "a token out of order")?;
            let more = shared < before.len() && token[shared] == before[shared];
            self.rule(apart || !more, begin, "the shared length")?;
        }
        Ok(at + rest)
    }

    /// A number in its shortest form, and where the next byte stands.
    fn varint(&self, at: usize) -> Result<(usize, usize)> {
        let mut walk = Walk::new(&self.data[at.min(self.data.len())..]);
        match walk.varint() {
            Some(number) => Ok((number, at + walk.at())),
            None => Err(self.section.fault(self.first + at, "no number in its shortest form")),
        }
    }
}

fn check_order(section: &Section, vocabulary: &Vocabulary, id_limit: usize) -> Result<()> {
    let count = vocabulary.len();
    let mut wanted = vec![NONE; id_limit];
    for position in 0..count {
        let id = vocabulary.id_at(position) as usize;
        section.ensure(id < id_limit, 4 * position, "an id beyond the limit")?;
    }
    for position in 0..count {
        wanted[vocabulary.id_at(position) as usize] = position as u32;
    }
    for (id, &position) in wanted.iter().enumerate() {
        let same = entry(vocabulary.positions, id) == position;
        section.ensure(same, 4 * (count + id), "the position of an id")?;
    }
    for position in 0..count {
        let back = wanted[vocabulary.id_at(position) as usize];
        section.ensure(back as usize == position, 4 * position, "an id at two positions")?;
    }
    let last = 4 * (count + id_limit.max(1) - 1);
    section.ensure(wanted.last() != Some(&NONE), last, "the last id has no token")
}

fn check_index(section: &Section, vocabulary: &Vocabulary, hashes: &[u32]) -> Result<()> {
    let (starts, order) = indexed(hashes, vocabulary.log);
    check_starts(section, 0, vocabulary.buckets, &starts)?;
    let first = vocabulary.buckets.len();
    for (row, &position) in order.iter().enumerate() {
        let same = entry(vocabulary.entries, row) == position;
        section.ensure(same, first + 4 * row, "the position of an entry")?;
    }
    let tags = first + vocabulary.entries.len();
    for (row, &position) in order.iter().enumerate() {
        let same = vocabulary.tags[row] == hashes[position as usize] as u8;
        section.ensure(same, tags + row, "the tag of an entry")?;
    }
    Ok(())
}

/// The index of hashes by position: where buckets begin, and the positions bucket by bucket.
pub fn indexed(hashes: &[u32], log: u32) -> (Vec<u32>, Vec<u32>) {
    let place = |hash: u32| bucket(hash.wrapping_mul(0x9e37_79b1), log);
    let starts = counted(hashes.iter().map(|&hash| place(hash)), 1 << log);
    let mut next = starts.clone();
    let mut order = vec![0u32; hashes.len()];
    for (position, &hash) in (0..).zip(hashes) {
        let at = &mut next[place(hash)];
        order[*at as usize] = position;
        *at += 1;
    }
    (starts, order)
}

/// Where each bucket begins, and where the last one ends.
pub fn counted(places: impl Iterator<Item = usize>, buckets: usize) -> Vec<u32> {
    let mut starts = vec![0u32; buckets + 1];
    places.for_each(|place| starts[place + 1] += 1);
    for i in 0..buckets {
        starts[i + 1] += starts[i];
    }
    starts
}

fn check_starts(section: &Section, at: usize, found: &[u8], wanted: &[u32]) -> Result<()> {
    wanted.iter().enumerate().try_for_each(|(i, &start)| {
        section.ensure(entry(found, i) == start, at + 4 * i, "the start of a bucket")
    })
}

/// Rule 22.
pub fn read_merges<'a>(
    frame: &Frame<'a>,
    vocabulary: &Vocabulary,
    odd: bool,
) -> Result<Merges<'a>> {
    let section = frame.section(11);
    let count = frame.merges;
    let log = log2(count);
    let (rows, buckets) = section.bytes.split_at(16 * count);
    let number = |row: usize, column: usize| entry(rows, 4 * row + column);
    for column in [0, 1, 3] {
        for row in 0..count {
            let id = number(row, column) as usize;
            let known = id < frame.id_limit && entry(vocabulary.positions, id) != NONE;
            section.ensure(known, 16 * row + 4 * column, "no token has this id")?;
        }
    }
    for row in 0..count {
        section.ensure((number(row, 2) as usize) < count, 16 * row + 8, "the rank of a merge")?;
    }
    let place = |row: usize| pair_bucket(number(row, 0), number(row, 1), log);
    let key = |row: usize| (place(row), number(row, 0), number(row, 1));
    for row in 1..count {
        section.ensure(key(row) > key(row - 1), 16 * row, "a pair out of order")?;
    }
    let starts = counted((0..count).map(place), 1 << log);
    check_starts(&section, 16 * count, buckets, &starts)?;
    Ok(Merges { rows, buckets, log, odd })
}

/// Rule 23.
pub fn read_scores<'a>(frame: &Frame<'a>) -> Result<&'a [u8]> {
    let section = frame.section(12);
    if frame.kind == Kind::Unigram {
        for id in 0..frame.tokens {
            let score = f64::from_bits(u64_at(section.bytes, 8 * id));
            section.ensure(score.is_finite(), 8 * id, "a score that is no number")?;
        }
    }
    Ok(section.bytes)
}
