//! Tokenizers: texts to ids with offsets, ids to bytes, out of TOK2, BTOK or BPE1 alone.
//!
//! The bytes of a TOK2 block hold all that a tokenizer needs, Unicode data too, and are used where
//! they lie. Ids, offsets and bytes are those of the `tokenizers` library. Every text ends, and in
//! memory that is a multiple of its length: merging is n log n, nothing recurses by the text.

pub mod added;
pub mod aligned;
mod bounds;
mod byte_chars;
mod cache;
mod charsmap;
mod clusters;
mod crc32;
mod cutting;
pub mod decode;
mod decoder_texts;
mod decoders;
pub mod encode;
pub mod models;
mod normal_forms;
mod normalizers;
mod opening;
mod partition;
pub mod pattern;
mod pieces;
mod post;
mod pre_tokenizers;
pub mod scalars;
mod sentencepiece;
pub mod sets;
pub mod slm1;
mod splitting;
pub mod state;
pub mod stream;
mod symbols;
mod tables;
pub mod tok2;
pub mod trace;
mod vocabulary;

use self::added::{AddedToken, Matcher};
use self::decoders::Decoder;
use self::models::{IdSet, Model};
use self::normalizers::{Normalizer, Tools};
use self::pattern::Pattern;
use self::post::{PostProcessor, Trimming};
use self::pre_tokenizers::PreTokenizer;
use self::sentencepiece::Sentence;
use self::sets::ScalarSet;
use self::vocabulary::Vocabulary;
use std::borrow::Cow;

/// One tokenizer, in the bytes of its block.
pub struct Tokenizer<'a> {
    sets: Vec<ScalarSet>,
    patterns: Vec<Pattern>,
    normalizers: Vec<Normalizer<'a>>,
    pre_tokenizers: Vec<PreTokenizer<'a>>,
    post_processors: Vec<PostProcessor<'a>>,
    decoders: Vec<Decoder<'a>>,
    added: Vec<AddedToken<'a>>,
    /// How each is printed: a normalized one in its normalized form.
    added_forms: Vec<Cow<'a, [u8]>>,
    /// Ids and places in `added`, ascending.
    added_by_id: Vec<(u32, usize)>,
    special_texts: Vec<&'a [u8]>,
    word: Option<usize>,
    space: Option<usize>,
    /// Tokens looked for in the text as given.
    given: Matcher,
    /// Tokens looked for in the normalized text.
    normalized: Matcher,
    /// Escaped in diagnostic texts.
    hidden_set: usize,
    vocabulary: Vocabulary<'a>,
    model: Model<'a>,
    /// Ids that content never gives.
    hidden: IdSet,
    /// One for each set of white space that trimming asks for.
    trimmings: Vec<Trimming>,
    /// How tokens are decoded, by id; none in profile 1.
    kinds: &'a [u8],
    /// Ids from here on are no tokens of the vocabulary.
    real: u32,
    /// Added tokens are looked for one after the other, the longest first.
    partitioned: bool,
    /// A token that decoding leaves out stays as an empty text.
    keeps_places: bool,
    /// The model takes the bytes themselves for their visible characters.
    plain_bytes: bool,
    names: Names<'a>,
    /// What is around a model of SentencePiece.
    sentence: Option<Sentence<'a>>,
    /// The bytes of the block, where nobody else keeps them for as long as they are used.
    pub made: Option<Vec<u8>>,
}

/// What is called how where stages are shown.
struct Names<'a> {
    /// Pointers and kinds of the normalizers, pre-tokenizers, post-processors and decoders.
    stages: Vec<[&'a [u8]; 2]>,
    model: &'static str,
}

impl Tokenizer<'_> {
    fn tools(&self) -> Tools<'_> {
        Tools {
            sets: &self.sets,
            patterns: &self.patterns,
            vocabulary: &self.vocabulary,
            kinds: self.kinds,
        }
    }
}
