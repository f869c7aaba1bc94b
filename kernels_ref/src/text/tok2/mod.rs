//! Reader of TOK2, the compiled tokenizer, written from docs/formats/tok2.md.
//!
//! It checks every rule of the page in its order and stops at the first that is broken; no bytes
//! make it panic. What it makes keeps lying in the bytes.

mod added;
mod frame;
mod kinds;
pub mod model;
mod patterns;
pub mod pools;
mod references;
pub mod section;
mod sentence;
mod stage_kinds;
mod stage_row;
mod stages;
mod tables;
mod vocabulary;
pub mod write;
pub mod write_vocabulary;

use self::added::Added;
use self::frame::Frame;
use self::kinds::Kinds;
use self::pools::{Pools, Use};
use self::stages::Stages;
use super::decoders::Decoder;
use super::models::Model;
use super::sentencepiece::Sentence;
use super::vocabulary::Vocabulary;
use crate::error::Result;

/// Everything that a block holds.
pub struct Block<'a> {
    /// Sets and patterns.
    pub pools: Pools<'a>,
    /// Stages around the model.
    pub stages: Stages<'a>,
    /// Added tokens.
    pub added: Added<'a>,
    /// The set that diagnostic decoding escapes.
    pub hidden: usize,
    /// Tokens.
    pub vocabulary: Vocabulary<'a>,
    /// The model.
    pub model: Model<'a>,
    /// What it is called.
    pub model_name: &'static str,
    /// How tokens are decoded in profiles 2 and 3.
    pub kinds: Option<Kinds<'a>>,
    /// What is around the model in profile 3.
    pub sentence: Option<Sentence<'a>>,
    /// Whose rules the stages follow.
    pub profile: u32,
}

/// Read a block.
pub fn read(bytes: &[u8]) -> Result<Block<'_>> {
    let frame = Frame::read(bytes)?;
    let profile = frame.kind.profile();
    let pools = Pools::read([1, 2, 3, 4].map(|kind| frame.section(kind)), profile)?;
    let mut stages = stages::read_stages(frame.section(5), &pools, profile)?;
    let added = added::read(frame.section(6), &pools, frame.added, profile)?;
    let parameters = model::read(&frame, &pools)?;
    let vocabulary = vocabulary::read(&frame)?;
    let model = parameters.model(&frame, &vocabulary)?;
    let kinds = kinds::read(&frame, &vocabulary, &parameters)?;
    roles(&frame, &vocabulary, &added)?;
    let uses: [&[Use]; 4] = [&parameters.uses, &added.uses, &stages.uses, &pools.node_uses];
    pools.require_order(uses.iter().flat_map(|uses| uses.iter().copied()))?;
    let sentence = stages.sentence.take().zip(kinds.as_ref()).map(|(found, kinds)| {
        let (sentence, decoder) = parameters.sentence(found, &vocabulary, kinds.kinds);
        stages.decoders.push(Decoder::Sentence(decoder));
        sentence
    });
    Ok(Block {
        pools,
        stages,
        added,
        hidden: parameters.hidden,
        vocabulary,
        model,
        model_name: frame.kind.name(),
        kinds,
        sentence,
        profile,
    })
}

/// Rule 24: roles do not change how a text is encoded.
fn roles(frame: &Frame, vocabulary: &Vocabulary, added: &Added) -> Result<()> {
    let section = frame.section(13);
    section.need(4, 0)?;
    let count = section.u32(0) as usize;
    section.exactly(4 + 8 * count as u64, 0)?;
    let mut ids: Vec<u32> = added.tokens.iter().map(|token| token.id).collect();
    ids.sort_unstable();
    let mut before = (0, 0);
    for at in (4..4 + 8 * count).step_by(8) {
        let (role, id) = (section.u32(at), section.u32(at + 4));
        section.ensure((1..=7).contains(&role), at, "an unknown role")?;
        section.ensure(at == 4 || (role, id) > before, at, "a role out of order")?;
        let known = vocabulary.has(id) || ids.binary_search(&id).is_ok();
        section.ensure(known, at + 4, "no token has this id")?;
        before = (role, id);
    }
    Ok(())
}
