//! Section 12 of profiles 2 and 3: ranks of tokens, and how each one is decoded.

use super::frame::{Frame, Kind};
use super::model::Parameters;
use super::section::NONE;
use super::sentence;
use crate::bytes::u32_at;
use crate::error::Result;
use crate::text::decoder_texts::named_byte;
use crate::text::models::bytes_named;
use crate::text::pieces::{BYTE, KINDS, TEXT};
use crate::text::vocabulary::Vocabulary;

/// How tokens are decoded, by id.
pub struct Kinds<'a> {
    /// A kind each.
    pub kinds: &'a [u8],
    /// Ids below are tokens.
    pub real: u32,
}

/// Rule 23, and what a vocabulary with ranks or bytes needs; None in profile 1.
pub fn read<'a>(
    frame: &Frame<'a>,
    vocabulary: &Vocabulary,
    parameters: &Parameters,
) -> Result<Option<Kinds<'a>>> {
    match frame.kind.profile() {
        1 => Ok(None),
        2 => tokens(frame, vocabulary, parameters.real).map(Some),
        _ => sentence::kinds(frame, vocabulary, parameters).map(Some),
    }
}

fn tokens<'a>(frame: &Frame<'a>, vocabulary: &Vocabulary, real: u32) -> Result<Kinds<'a>> {
    let section = frame.section(12);
    let scored = frame.kind == Kind::Scored;
    let first = if scored { 4 * frame.tokens } else { 0 };
    let (ranks, kinds) = section.bytes.split_at(first);
    if let Some(place) = wrong_rank(ranks) {
        return Err(section.fault(4 * place, "a rank behind one that is left out"));
    }
    if let Some(place) = kinds.iter().position(|&kind| kind >= KINDS) {
        return Err(section.fault(first + place, "an unknown kind"));
    }
    if scored {
        require_bytes(frame, vocabulary)?;
    }
    let mut wrong = None;
    vocabulary.each(|token, id| {
        let kind = kinds[id as usize];
        let phantom = kind != TEXT && id >= real;
        if phantom || (kind == BYTE && named_byte(token).is_none()) {
            wrong = wrong.or(Some(id));
        }
    });
    match wrong {
        Some(id) => Err(section.fault(first + id as usize, "a kind that the token has not")),
        None => Ok(Kinds { kinds, real }),
    }
}

/// The first id with the lowest rank before which one is left out.
fn wrong_rank(ranks: &[u8]) -> Option<usize> {
    let rows = || ranks.chunks_exact(4).map(|row| u32_at(row, 0));
    let mut distinct: Vec<u32> = rows().collect();
    distinct.sort_unstable();
    distinct.dedup();
    let (_, wrong) = (0..).zip(distinct).find(|&(wanted, rank): &(u32, u32)| wanted != rank)?;
    rows().position(|rank| rank == wrong)
}

/// Every byte has a token, by its name or as the ASCII character that it is.
fn require_bytes(frame: &Frame, vocabulary: &Vocabulary) -> Result<()> {
    let named = bytes_named(vocabulary);
    (0u8..=255).zip(named.iter()).try_for_each(|(byte, &id)| {
        let plain = byte.is_ascii() && vocabulary.find(&[byte]).is_some();
        frame.section(7).ensure(id != NONE || plain, 0, "the token of a byte is missing")
    })
}
