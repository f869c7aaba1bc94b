//! Strict reader of BPE1: tokens of bytes, and merges.
//!
//! Rules are checked record by record. That bytes or pairs are there already is seen only when the
//! records up to the first fault are sorted; a record that repeats another stands before that
//! fault, so it is what is named.

use super::{specials, Source, Specials};
use crate::bytes::reserve;
use crate::error::{Code, Result};
use crate::text::tok2::section::Section;

const HEADER: usize = 36;
const TOKEN: usize = 8;
const MERGE: usize = 16;
const MOST_VOCAB: u32 = 1 << 24;

/// The tokenizer of a section that begins with the magic.
pub(super) fn read(bytes: &[u8]) -> Result<Source<'_>> {
    let section = Section { bytes, offset: 0, code: Code::Bpe1 };
    section.need(HEADER as u64, 0)?;
    let [version, vocab, token_count, merge_count] = [4, 8, 28, 32].map(|at| section.u32(at));
    section.ensure(version == 1, 4, "another version than 1")?;
    section.ensure((1..=MOST_VOCAB).contains(&vocab), 8, "a vocabulary out of bounds")?;
    let specials = specials(&section, 0, vocab)?;
    section.ensure(token_count <= vocab, 28, "more tokens than the vocabulary has ids")?;
    let least = MERGE as u64 * u64::from(merge_count) + TOKEN as u64 * u64::from(token_count);
    section.need(least, 32)?;
    let (tokens, at) = tokens(&section, token_count as usize, vocab)?;
    let rest = Section { bytes: &bytes[at..], offset: at, ..section };
    rest.exactly(MERGE as u64 * u64::from(merge_count), 0)?;
    let merges = merges(&rest, &tokens, &specials)?;
    Ok(Source { specials, tokens, merges })
}

/// Bytes by id, and where the merges begin.
fn tokens<'a>(
    section: &Section<'a>,
    count: usize,
    vocab: u32,
) -> Result<(Vec<(u32, &'a [u8])>, usize)> {
    let mut tokens: Vec<(u32, &[u8])> = Vec::new();
    reserve(&mut tokens, count)?;
    let mut places = Vec::new();
    reserve(&mut places, count)?;
    let end: Result<usize> = (0..count).try_fold(HEADER, |at, _| {
        let least = tokens.last().map_or(0, |&(id, _)| id + 1);
        let (id, token) = token_at(section, at, least, vocab)?;
        tokens.push((id, token));
        places.push(at + TOKEN);
        Ok(at + TOKEN + token.len())
    });
    let texts: Vec<&[u8]> = tokens.iter().map(|&(_, token)| token).collect();
    section.unlike(&texts, |i| places[i])?;
    Ok((tokens, end?))
}

fn token_at<'a>(
    section: &Section<'a>,
    at: usize,
    least: u32,
    vocab: u32,
) -> Result<(u32, &'a [u8])> {
    let start = at + TOKEN;
    section.ensure(start <= section.bytes.len(), at, "no room for a token")?;
    let (id, length) = (section.u32(at), section.u32(at + 4) as usize);
    section.ensure((least..vocab).contains(&id), at, "an id out of order")?;
    let left = section.bytes.len() - start;
    section.ensure((1..=left).contains(&length), at + 4, "the length of a token")?;
    Ok((id, &section.bytes[start..start + length]))
}

/// Left, right and made, by rank; the section holds the merges alone.
fn merges(
    section: &Section,
    tokens: &[(u32, &[u8])],
    specials: &Specials,
) -> Result<Vec<[u32; 3]>> {
    let count = section.bytes.len() / MERGE;
    let mut merges = Vec::new();
    reserve(&mut merges, count)?;
    let end: Result<()> = (0..count).try_for_each(|rank| {
        merges.push(merge_at(section, rank, tokens, specials)?);
        Ok(())
    });
    let pairs: Vec<[u32; 2]> = merges.iter().map(|&[left, right, _]| [left, right]).collect();
    section.unlike(&pairs, |rank| MERGE * rank)?;
    end.map(|()| merges)
}

fn merge_at(
    section: &Section,
    rank: usize,
    tokens: &[(u32, &[u8])],
    specials: &Specials,
) -> Result<[u32; 3]> {
    let at = MERGE * rank;
    let ids = [0, 4, 8].map(|field| section.u32(at + field));
    let mut parts: [&[u8]; 3] = [&[]; 3];
    for (i, id) in ids.iter().enumerate() {
        let plain = !specials.contains(id);
        let found = tokens.binary_search_by_key(id, |&(id, _)| id).ok().filter(|_| plain);
        parts[i] = found
            .map(|token| tokens[token].1)
            .ok_or_else(|| section.fault(at + 4 * i, "no id of a token that is not special"))?;
    }
    let [left, right, made] = parts;
    let joined = made.strip_prefix(left) == Some(right);
    section.ensure(joined, at + 8, "an output of other bytes than left and right have")?;
    section.ensure(section.u32(at + 12) as usize == rank, at + 12, "a rank out of order")?;
    Ok(ids)
}
