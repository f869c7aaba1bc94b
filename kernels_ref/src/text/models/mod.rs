//! Models: a piece of text becomes ids with the bytes of the piece that they stand for.

pub mod borders;
pub mod bpe;
pub mod merging;
pub mod score_merging;
pub mod scored;
pub mod texts;
pub mod unigram;
pub mod words;

use super::cache::Cache;
use super::sentencepiece::model::PieceModel;
use super::sentencepiece::paths;
use super::vocabulary::{Vocabulary, NONE};
use crate::error::{Code, Error, Result};

/// An id, and the bytes `start` to `end` of the piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The token.
    pub id: u32,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// A set of ids.
#[derive(Default)]
pub struct IdSet {
    ids: Vec<u32>,
}

impl IdSet {
    /// The set of these ids.
    pub fn new(mut ids: Vec<u32>) -> IdSet {
        ids.sort_unstable();
        ids.dedup();
        IdSet { ids }
    }

    /// Whether an id is in it.
    #[inline]
    pub fn has(&self, id: u32) -> bool {
        self.ids.binary_search(&id).is_ok()
    }

    /// The ids, ascending.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }
}

/// A vocabulary's way to cut.
pub enum Model<'a> {
    /// Merges by rank.
    Bpe(bpe::Bpe<'a>),
    /// The best path by scores.
    Unigram(unigram::Unigram<'a>),
    /// The longest piece first.
    WordPiece(words::WordPiece<'a>),
    /// Whole words.
    WordLevel(words::WordLevel),
    /// Merges by rank over texts that need not be tokens.
    Texts(texts::Texts<'a>),
    /// Merges by scores.
    Scored(scored::Scored<'a>),
    /// As SentencePiece cuts; what is unknown has no id.
    Pieces(PieceModel<'a>),
}

/// Memory of models, kept between pieces.
#[derive(Default)]
pub struct Scratch {
    /// Symbols of a BPE.
    pub symbols: Vec<merging::Symbol>,
    /// Merging them.
    pub merging: merging::Scratch,
    /// Merging by scores.
    pub scored: score_merging::Scratch,
    /// Best paths of a Unigram.
    pub paths: Vec<unigram::Node>,
    /// Words of SentencePiece met before.
    pub words: Cache,
    /// Best paths of SentencePiece.
    pub sums: Vec<paths::Node>,
    /// A text put together.
    pub text: Vec<u8>,
}

/// What a model works with besides itself.
pub struct Room<'r, 'a> {
    /// The tokens.
    pub vocabulary: &'r Vocabulary<'a>,
    /// Ids that are not given: the text is content.
    pub hidden: Option<&'r IdSet>,
    /// Memory.
    pub scratch: &'r mut Scratch,
}

impl Room<'_, '_> {
    /// The id of a token that may be given.
    #[inline]
    pub fn find(&self, text: &[u8]) -> Option<u32> {
        self.shown(self.vocabulary.find(text))
    }

    /// The same by hash.
    #[inline]
    pub fn find_hashed(&self, hash: u32, text: &[u8]) -> Option<u32> {
        self.shown(self.vocabulary.find_hashed(hash, text))
    }

    /// The id, unless it is hidden.
    #[inline]
    pub fn shown(&self, id: Option<u32>) -> Option<u32> {
        match self.hidden {
            Some(hidden) => id.filter(|&id| !hidden.has(id)),
            None => id,
        }
    }
}

impl Model<'_> {
    /// The tokens of one piece that is not empty.
    pub fn tokenize(&self, text: &[u8], room: Room, out: &mut Vec<Part>) -> Result<()> {
        match self {
            Model::Bpe(model) => model.tokenize(text, room, out),
            Model::Unigram(model) => model.tokenize(text, room, out),
            Model::WordPiece(model) => model.tokenize(text, room, out),
            Model::WordLevel(model) => model.tokenize(text, room, out),
            Model::Texts(model) => {
                model.tokenize(text, room, out);
                Ok(())
            }
            Model::Scored(model) => model.tokenize(text, room, out),
            Model::Pieces(model) => {
                model.segments(text, room, out);
                Ok(())
            }
        }
    }

    /// Whether a token is written as the piece of text that it stands for.
    pub fn writes_pieces(&self, id: u32) -> bool {
        matches!(self, Model::Unigram(model) if model.unknown == Some(id))
    }

    /// The unknown token's id.
    pub fn unknown_id(&self) -> Option<u32> {
        match self {
            Model::Bpe(model) => model.unknown.and_then(|id| id),
            Model::Unigram(model) => model.unknown,
            Model::WordPiece(model) => model.unknown,
            Model::WordLevel(model) => model.unknown,
            Model::Texts(_) | Model::Scored(_) | Model::Pieces(_) => None,
        }
    }
}

/// Ids of the tokens `<0xHH>`.
pub fn bytes_named(vocabulary: &Vocabulary) -> Box<[u32; 256]> {
    let mut table = Box::new([NONE; 256]);
    for (byte, id) in table.iter_mut().enumerate() {
        *id = vocabulary.find(format!("<0x{:02X}>", byte).as_bytes()).unwrap_or(NONE);
    }
    table
}

/// Nothing stands for a text, and there is no unknown token.
pub fn no_unknown(text: &[u8]) -> Error {
    let shown: String = String::from_utf8_lossy(text).chars().take(20).collect();
    Error::new(Code::UnknownToken, "text", format!("no token stands for {:?}", shown))
}
