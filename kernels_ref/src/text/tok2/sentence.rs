//! What profile 3 of TOK2 has of its own: two stages, and the pieces with their kinds.

use super::frame::{Frame, Kind};
use super::kinds::Kinds;
use super::model::Parameters;
use super::section::NONE;
use super::stage_row::Reader;
use crate::error::Result;
use crate::text::charsmap::Charsmap;
use crate::text::decoder_texts::named_byte;
use crate::text::models::{bytes_named, Model};
use crate::text::sentencepiece::decoding::PieceDecoder;
use crate::text::sentencepiece::kinds::{BYTE, NORMAL, UNKNOWN, UNUSED};
use crate::text::sentencepiece::merged::Merged;
use crate::text::sentencepiece::model::PieceModel;
use crate::text::sentencepiece::normalizer::{Normalizer, Switches};
use crate::text::sentencepiece::paths::Paths;
use crate::text::sentencepiece::symbols::Symbols;
use crate::text::sentencepiece::Sentence;
use crate::text::vocabulary::{entry, Vocabulary};

const LONGEST_PIECE: usize = 7999;

/// The normalizer and the decoder.
pub struct SentenceStages<'a> {
    switches: Switches,
    rules: Option<Charsmap<'a>>,
    surface: Surface<'a>,
}

/// How pieces are decoded.
struct Surface<'a> {
    /// What the unknown piece is shown as.
    unknown: &'a [u8],
    /// Of the denormalizer.
    switches: Switches,
    /// Its table, if there is one.
    rules: Option<Charsmap<'a>>,
}

impl<'r, 'a> Reader<'r, 'a> {
    /// The only two stages.
    pub fn sentence(&mut self) -> Result<SentenceStages<'a>> {
        let (switches, rules) = self.stage(Reader::sentence_normalizer)?;
        let surface = self.stage(Reader::sentence_decoder)?;
        Ok(SentenceStages { switches, rules, surface })
    }

    fn sentence_normalizer(&mut self, opcode: u16) -> Result<(Switches, Option<Charsmap<'a>>)> {
        if opcode != 11 {
            return self.unknown();
        }
        self.known_as(15, b"/normalizer_spec")?;
        Ok((Switches::new(self.flags()), self.rules_or_none()?))
    }

    fn sentence_decoder(&mut self, opcode: u16) -> Result<Surface<'a>> {
        if opcode != 60 {
            return self.unknown();
        }
        self.known_as(7, b"/denormalizer_spec")?;
        let (unknown, rules) = (self.text()?, self.rules_or_none()?);
        self.require_unused()?;
        self.require_flags(rules.is_some() || self.flags() == 0)?;
        Ok(Surface { unknown, switches: Switches::new(self.flags()), rules })
    }
}

/// Rule 23.
pub fn kinds<'a>(
    frame: &Frame<'a>,
    vocabulary: &Vocabulary,
    parameters: &Parameters,
) -> Result<Kinds<'a>> {
    let section = frame.section(12);
    let (scores, kinds) = section.bytes.split_at(4 * frame.tokens);
    for id in 0..frame.tokens {
        let score = f32::from_bits(entry(scores, id));
        section.ensure(score.is_finite(), 4 * id, "a score that is no number")?;
    }
    let first = scores.len();
    if let Some(id) = kinds.iter().position(|kind| !(NORMAL..=BYTE).contains(kind)) {
        return Err(section.fault(first + id, "an unknown kind"));
    }
    let fallback = parameters.byte_fallback();
    if fallback {
        let missing = bytes_named(vocabulary).contains(&NONE);
        frame.section(7).ensure(!missing, 0, "the piece of a byte is missing")?;
    }
    let mut wrong = None;
    vocabulary.each(|token, id| {
        let kind = kinds[id as usize];
        let null = token.contains(&0) && (token != b"\0" || kind != UNUSED);
        let unknown = Some(id) == parameters.unknown_id;
        let is_byte = fallback && is_byte_name(token);
        let fits = !token.is_empty()
            && token.len() <= LONGEST_PIECE
            && !null
            && (kind == UNKNOWN) == unknown
            && (kind == BYTE) == is_byte;
        if !fits {
            wrong = wrong.or(Some(id));
        }
    });
    match wrong {
        Some(id) => Err(section.fault(first + id as usize, "a kind that the piece has not")),
        None => Ok(Kinds { kinds, real: frame.tokens as u32 }),
    }
}

/// With upper-case digits.
fn is_byte_name(token: &[u8]) -> bool {
    named_byte(token).is_some() && !token[3..].iter().any(u8::is_ascii_lowercase)
}

impl<'a> Parameters<'a> {
    /// The model of profile 3.
    pub(super) fn pieces(&self, frame: &Frame<'a>, vocabulary: &Vocabulary<'a>) -> Model<'a> {
        let (scores, kinds) = frame.section(12).bytes.split_at(4 * frame.tokens);
        Model::Pieces(match frame.kind {
            Kind::PiecePaths => PieceModel::Paths(Paths::new(vocabulary, scores, kinds)),
            Kind::PieceMerges => PieceModel::Merged(Merged::new(vocabulary, scores, kinds)),
            Kind::PieceWords => PieceModel::Words(kinds),
            _ => PieceModel::Characters(kinds, Symbols::new(vocabulary, kinds)),
        })
    }

    /// What is around the model, and the decoder.
    pub(super) fn sentence(
        &self,
        stages: SentenceStages<'a>,
        vocabulary: &Vocabulary<'a>,
        kinds: &'a [u8],
    ) -> (Sentence<'a>, PieceDecoder<'a>) {
        let SentenceStages { switches, rules, surface } = stages;
        let symbols = Some(Symbols::new(vocabulary, kinds));
        let normalizer = Normalizer { switches, rules, symbols };
        let denormalizer = surface.rules.map(|rules| Normalizer {
            switches: surface.switches,
            rules: Some(rules),
            symbols: None,
        });
        let sentence = Sentence {
            normalizer,
            unknown: self.unknown_id.unwrap_or(NONE),
            bytes: self.byte_fallback().then(|| bytes_named(vocabulary)),
        };
        (sentence, PieceDecoder { unknown: surface.unknown, switches, denormalizer })
    }
}
