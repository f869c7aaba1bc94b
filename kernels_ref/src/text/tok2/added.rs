//! The added tokens of a TOK2 block under a strict reader.

use super::pools::{Pool, Pools, Use};
use super::references::{References, COUNT_LIMIT};
use super::section::Section;
use crate::error::Result;
use crate::text::added::AddedToken;

/// Section 6.
pub struct Added<'a> {
    /// In the source's order.
    pub tokens: Vec<AddedToken<'a>>,
    /// Word characters.
    pub word: Option<usize>,
    /// White space.
    pub space: Option<usize>,
    /// The byte of the block where the first token's content stands; the next is 16 bytes on.
    pub contents_at: usize,
    /// References for the walk.
    pub uses: Vec<Use>,
}

/// Read section 6.
pub fn read<'a>(
    section: Section<'a>,
    pools: &Pools<'a>,
    count: usize,
    profile: u32,
) -> Result<Added<'a>> {
    let allowed = if profile == 1 { 0b11111 } else { 0b10110 };
    let mut references = References::new(section, pools);
    section.ensure(section.u32(0) as usize == count, 0, "another number of added tokens")?;
    let word = references.optional(Pool::Sets, 4)?;
    let space = references.optional(Pool::Sets, 8)?;
    section.zeros(12, 4)?;
    let mut tokens: Vec<AddedToken> = Vec::with_capacity(count);
    let mut seen = std::collections::HashSet::with_capacity(count);
    for at in (16..16 + 16 * count).step_by(16) {
        let token = added(&mut references, at, allowed)?;
        let own = !token.content.is_empty() && seen.insert(token.content);
        section.ensure(own, at + 8, "a content that is empty or there already")?;
        tokens.push(token);
    }
    let needs_word = tokens.iter().any(|token| token.single_word);
    section.ensure(word.is_some() == needs_word, 4, "a set for single_word, or none")?;
    let needs_space = profile == 1 && tokens.iter().any(|token| token.lstrip || token.rstrip);
    section.ensure(space.is_some() == needs_space, 8, "a set for lstrip and rstrip, or none")?;
    let contents_at = section.offset + 24;
    Ok(Added { tokens, word, space, contents_at, uses: references.uses })
}

fn added<'a>(
    references: &mut References<'_, 'a>,
    at: usize,
    allowed: u32,
) -> Result<AddedToken<'a>> {
    let section = references.section;
    let (id, flags) = (section.u32(at), section.u32(at + 4));
    section.ensure(id < COUNT_LIMIT, at, "an id")?;
    section.ensure(flags & !allowed == 0, at + 4, "unknown flags")?;
    let content = references.text(at + 8)?;
    section.ensure(section.u32(at + 12) == 0, at + 12, "a reserved field")?;
    Ok(AddedToken {
        id,
        content,
        single_word: flags & 1 != 0,
        lstrip: flags & 2 != 0,
        rstrip: flags & 4 != 0,
        normalized: flags & 8 != 0,
        special: flags & 16 != 0,
    })
}
