//! The model of a TOK2 block: its parameters, and the model that they make.

use super::frame::{Frame, Kind};
use super::pools::{Pool, Pools, Use};
use super::references::{References, COUNT_LIMIT};
use super::section::{Section, NONE};
use super::vocabulary;
use crate::bytes::u64_at;
use crate::error::Result;
use crate::text::byte_chars::visible;
use crate::text::models::bpe::Bpe;
use crate::text::models::scored::Scored;
use crate::text::models::texts::Texts;
use crate::text::models::unigram::Unigram;
use crate::text::models::words::{WordLevel, WordPiece};
use crate::text::models::{bytes_named, Model};
use crate::text::symbols::SymbolTable;
use crate::text::vocabulary::Vocabulary;

/// Costs of an unknown scalar in profile 1.
const PENALTY: f64 = 10.0;

/// Section 7.
pub struct Parameters<'a> {
    flags: u32,
    unknown: Option<&'a [u8]>,
    prefix: &'a [u8],
    suffix: &'a [u8],
    /// The set that diagnostic decoding escapes.
    pub hidden: usize,
    /// The unknown token, where it is named by its id.
    pub unknown_id: Option<u32>,
    longest: usize,
    /// Ids below are tokens in profile 2.
    pub real: u32,
    /// References for the walk.
    pub uses: Vec<Use>,
}

/// Read section 7.
pub fn read<'a>(frame: &Frame<'a>, pools: &Pools<'a>) -> Result<Parameters<'a>> {
    let section = frame.section(7);
    let kind = frame.kind;
    section.ensure(section.u32(0) == kind as u32 + 1, 0, "another kind of model")?;
    let flags = section.u32(4);
    let allowed = match kind {
        Kind::Bpe => 7,
        Kind::Unigram => 1,
        Kind::Texts => 26,
        _ => u32::from(kind.profile() == 3),
    };
    section.ensure(flags & !allowed == 0, 4, "unknown flags")?;
    let mut references = References::new(section, pools);
    let (bpe, piece) = (kind == Kind::Bpe, kind == Kind::WordPiece);
    let has_unknown = bpe || piece || kind == Kind::WordLevel;
    let unknown = text(&mut references, 8, (has_unknown, bpe, true))?;
    let prefix = text(&mut references, 12, (bpe || piece, true, false))?;
    let suffix = text(&mut references, 16, (bpe, true, false))?;
    let hidden = references.take(Pool::Sets, 20)?;
    numbers(&section, kind, frame.tokens)?;
    Ok(Parameters {
        flags,
        unknown,
        prefix: prefix.unwrap_or(b""),
        suffix: suffix.unwrap_or(b""),
        hidden,
        unknown_id: Some(section.u32(24)).filter(|&id| id != NONE),
        longest: section.u32(28) as usize,
        real: if kind == Kind::Texts { section.u32(40) } else { frame.tokens as u32 },
        uses: references.uses,
    })
}

/// A text, by whether one may be there, may be missing, may be empty.
fn text<'a>(
    references: &mut References<'_, 'a>,
    at: usize,
    (allowed, optional, empty): (bool, bool, bool),
) -> Result<Option<&'a [u8]>> {
    let section = references.section;
    if section.u32(at) == NONE && (optional || !allowed) {
        return Ok(None);
    }
    section.ensure(allowed, at, "a text that this model has not")?;
    let text = references.text(at)?;
    section.ensure(empty || !text.is_empty(), at, "an empty text")?;
    Ok(Some(text))
}

fn numbers(section: &Section, kind: Kind, tokens: usize) -> Result<()> {
    let unknown = section.u32(24);
    let pieces = kind.profile() == 3;
    let may = pieces || kind == Kind::Unigram || kind == Kind::Words;
    let token = may && (unknown as usize) < tokens;
    let needed = if pieces { section.u32(4) & 1 == 0 } else { kind == Kind::Words };
    let none = unknown == NONE && !needed;
    section.ensure(none || token, 24, "the unknown id")?;
    let most = if kind == Kind::WordPiece { COUNT_LIMIT } else { 1 };
    section.ensure(section.u32(28) < most, 28, "the longest word")?;
    let paths = kind == Kind::Unigram || kind == Kind::PiecePaths;
    let penalty = if paths { PENALTY.to_bits() } else { 0 };
    section.ensure(u64_at(section.bytes, 32) == penalty, 32, "the penalty of an unknown")?;
    if kind != Kind::Texts {
        return section.ensure(u64_at(section.bytes, 40) == 0, 40, "a reserved field");
    }
    section.ensure(section.u32(40) as usize <= tokens, 40, "more tokens than texts")?;
    section.ensure(section.u32(44) == 0, 44, "a reserved field")
}

impl<'a> Parameters<'a> {
    /// The model; rules 22 and 23 of profile 1 on the way.
    pub fn model(&self, frame: &Frame<'a>, vocabulary: &Vocabulary<'a>) -> Result<Model<'a>> {
        let unknown = self.unknown.map(|text| vocabulary.find(text));
        let fallback = (self.flags & 1 != 0).then(|| bytes_named(vocabulary));
        Ok(match frame.kind {
            Kind::Bpe => {
                let odd = !self.prefix.is_empty() || vocabulary.find(b"").is_some();
                Model::Bpe(Bpe {
                    merges: vocabulary::read_merges(frame, vocabulary, odd)?,
                    unknown,
                    fuse_unknown: self.flags & 4 != 0,
                    fallback,
                    ignore_merges: self.flags & 2 != 0,
                    prefix: self.prefix,
                    suffix: self.suffix,
                    scalars: SymbolTable::new(vocabulary),
                    bytes: None,
                    borders: None,
                })
            }
            Kind::Unigram => Model::Unigram(self.unigram(frame, vocabulary, fallback)?),
            Kind::WordPiece => Model::WordPiece(WordPiece {
                unknown: unknown.and_then(|id| id),
                prefix: self.prefix,
                longest: self.longest,
            }),
            Kind::WordLevel => Model::WordLevel(WordLevel { unknown: unknown.and_then(|id| id) }),
            Kind::Texts => Model::Texts(Texts {
                merges: vocabulary::read_merges(frame, vocabulary, false)?.judged(vocabulary),
                scalars: SymbolTable::new(vocabulary),
                real: self.real,
                whole: self.flags & 2 != 0,
                lines: self.flags & 16 != 0,
                raw: (self.flags & 8 != 0).then(|| bytes_named(vocabulary)),
            }),
            Kind::Scored => Model::Scored(Scored {
                ranks: &frame.section(12).bytes[..4 * frame.tokens],
                bytes: bytes_named(vocabulary),
            }),
            Kind::Words => Model::WordPiece(WordPiece {
                unknown: self.unknown_id,
                prefix: b"",
                longest: usize::MAX,
            }),
            _ => self.pieces(frame, vocabulary),
        })
    }

    /// Whether bytes stand for what no token stands for.
    pub(super) fn byte_fallback(&self) -> bool {
        self.flags & 1 != 0
    }

    fn unigram(
        &self,
        frame: &Frame<'a>,
        vocabulary: &Vocabulary<'a>,
        fallback: Option<Box<[u32; 256]>>,
    ) -> Result<Unigram<'a>> {
        let scores = vocabulary::read_scores(frame)?;
        let each = (0..frame.tokens).map(|id| f64::from_bits(u64_at(scores, 8 * id)));
        // The lowest score; 0 without pieces. Which of two equal zeros makes no difference here.
        let lowest = each.reduce(|low, score| if score < low { score } else { low });
        let mut longest = Box::new([0u16; 256]);
        vocabulary.each(|token, _| {
            if let Some(&first) = token.first() {
                let most = &mut longest[usize::from(first)];
                *most = (*most).max(token.len() as u16);
            }
        });
        let lowest = lowest.unwrap_or(0.0) - PENALTY;
        Ok(Unigram { scores, unknown: self.unknown_id, lowest, fallback, longest })
    }
}

/// Ids of the visible characters of all bytes; None where one is no token, or a control token.
pub fn visible_tokens(bpe: &Bpe, special: &[u32]) -> Option<Box<[u32; 256]>> {
    let mut table = Box::new([NONE; 256]);
    for (byte, id) in (0..=255).zip(table.iter_mut()) {
        *id = bpe.scalars.get(visible(byte)).filter(|id| special.binary_search(id).is_err())?;
    }
    Some(table)
}
