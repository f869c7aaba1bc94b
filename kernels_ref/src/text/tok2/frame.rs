//! The frame of a TOK2 block: header, directory, padding and hashes, checked before any section.

use super::section::{refused, Section};
use crate::bytes::{u16_at, u32_at};
use crate::error::{ensure, Code, Result};
use crate::sha256;

/// Bytes of the header.
pub const HEADER: usize = 128;
/// Number of sections.
pub const SECTIONS: usize = 14;
/// Where the directory ends.
pub const DIRECTORY_END: usize = HEADER + 16 * SECTIONS;
const MOST_BYTES: usize = 1 << 30;
const MOST_TOKENS: u32 = 1 << 24;
const MOST_ADDED: u32 = 1 << 20;
/// Where the block's own hash stands.
pub const SELF_HASH: usize = 56;
const TEMPLATE_HASH: usize = 88;
const RESERVED: usize = 120;

/// Codes of the sections, in their order.
const CODES: [Code; SECTIONS] = [
    Code::Tok2Strings,
    Code::Tok2Sets,
    Code::Tok2Tables,
    Code::Tok2Patterns,
    Code::Tok2Stages,
    Code::Tok2Added,
    Code::Tok2Model,
    Code::Tok2Tokens,
    Code::Tok2Order,
    Code::Tok2Index,
    Code::Tok2Merges,
    Code::Tok2Scores,
    Code::Tok2Roles,
    Code::Tok2Section,
];

/// Kinds of models in their order, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Merges by rank.
    Bpe,
    /// The best path by scores.
    Unigram,
    /// The longest piece first.
    WordPiece,
    /// Whole words.
    WordLevel,
    /// Merges by rank over texts that need not be tokens.
    Texts,
    /// Merges by scores.
    Scored,
    /// The longest piece first in a word with its mark.
    Words,
    /// SentencePiece: the best path by scores.
    PiecePaths,
    /// SentencePiece: merges by scores.
    PieceMerges,
    /// SentencePiece: words.
    PieceWords,
    /// SentencePiece: characters.
    PieceCharacters,
}

impl Kind {
    const ALL: [Kind; 11] = [
        Kind::Bpe,
        Kind::Unigram,
        Kind::WordPiece,
        Kind::WordLevel,
        Kind::Texts,
        Kind::Scored,
        Kind::Words,
        Kind::PiecePaths,
        Kind::PieceMerges,
        Kind::PieceWords,
        Kind::PieceCharacters,
    ];

    /// Whose rules the stages follow: 1 `tokenizers`, 2 llama.cpp, 3 SentencePiece.
    pub fn profile(self) -> u32 {
        match self {
            _ if self < Kind::Texts => 1,
            _ if self < Kind::PiecePaths => 2,
            _ => 3,
        }
    }

    /// What it is called where stages are shown.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Bpe => "BPE",
            Kind::Unigram => "Unigram",
            Kind::WordPiece => "WordPiece",
            Kind::WordLevel => "WordLevel",
            Kind::Texts => "GGUF BPE",
            Kind::Scored => "GGUF SPM",
            Kind::Words => "GGUF WPM",
            Kind::PiecePaths => "UNIGRAM",
            Kind::PieceMerges => "BPE",
            Kind::PieceWords => "WORD",
            Kind::PieceCharacters => "CHAR",
        }
    }

    /// Whether it has merges.
    fn merges(self) -> bool {
        matches!(self, Kind::Bpe | Kind::Texts)
    }

    /// Whether its ids have no holes.
    fn dense(self) -> bool {
        self == Kind::Unigram || self.profile() > 1
    }

    /// Bytes of section 12 for each token.
    fn score_bytes(self) -> u64 {
        match self {
            Kind::Unigram => 8,
            Kind::Scored => 5,
            Kind::Texts | Kind::Words => 1,
            _ if self.profile() == 3 => 5,
            _ => 0,
        }
    }
}

/// The numbers of the header that sections need, and the sections.
pub struct Frame<'a> {
    /// Kind of the model.
    pub kind: Kind,
    /// Tokens of the vocabulary.
    pub tokens: usize,
    /// The largest id and 1.
    pub id_limit: usize,
    /// Merges.
    pub merges: usize,
    /// Added tokens.
    pub added: usize,
    sections: Vec<Section<'a>>,
}

/// The largest power of two not above a number, as a logarithm; 0 for 0.
pub fn log2(number: usize) -> u32 {
    (usize::BITS - 1).saturating_sub(number.leading_zeros())
}

impl<'a> Frame<'a> {
    /// Rules 1 to 11 of the format.
    pub fn read(bytes: &'a [u8]) -> Result<Frame<'a>> {
        let short = || refused(Code::Tok2Length, 0, format!("{} bytes are too few", bytes.len()));
        ensure(bytes.len() >= DIRECTORY_END, short)?;
        fixed(bytes)?;
        let kind = counts(bytes)?;
        let sections = directory(bytes)?;
        padding(bytes, &sections)?;
        hashes(bytes, &sections)?;
        let [tokens, id_limit, merges, added] =
            [32, 36, 40, 44].map(|at| u32_at(bytes, at) as usize);
        let frame = Frame { kind, tokens, id_limit, merges, added, sections };
        frame.lengths()?;
        Ok(frame)
    }

    /// A section by its kind, from 1.
    pub fn section(&self, kind: usize) -> Section<'a> {
        self.sections[kind - 1]
    }

    /// Sections whose length the header settles have it.
    fn lengths(&self) -> Result<()> {
        let tokens = self.tokens as u64;
        let merges = self.merges as u64;
        let buckets = 1u64 << log2(self.tokens / 2);
        let rows = 16 * merges + 4 * ((1u64 << log2(self.merges)) + 1);
        let wanted = [
            (6, 16 + 16 * self.added as u64),
            (7, 48),
            (9, 4 * (tokens + self.id_limit as u64)),
            (10, 4 * (buckets + 1) + 5 * tokens),
            (11, if self.kind.merges() { rows } else { 0 }),
            (12, self.kind.score_bytes() * tokens),
        ];
        for (kind, length) in wanted {
            let found = self.section(kind).bytes.len() as u64;
            ensure(found == length, || {
                let detail = format!("section {} has {} bytes, not {}", kind, found, length);
                refused(Code::Tok2Section, HEADER + 16 * (kind - 1) + 8, detail)
            })?;
        }
        Ok(())
    }
}

fn fixed(bytes: &[u8]) -> Result<()> {
    let version = |at: usize, detail: &str| refused(Code::Tok2Version, at, detail);
    ensure(&bytes[..4] == b"TOK2", || version(0, "the bytes are no TOK2"))?;
    ensure(u16_at(bytes, 4) == 1, || version(4, "another major version"))?;
    ensure(u16_at(bytes, 6) == 0, || version(6, "another minor version"))?;
    for (at, wanted) in [(8, 128), (20, SECTIONS as u32), (24, 128), (48, 16)] {
        let got = u32_at(bytes, at);
        ensure(got == wanted, || version(at, &format!("{}, expected {}", got, wanted)))?;
    }
    let profile = u32_at(bytes, 52);
    ensure((1..=3).contains(&profile), || version(52, &format!("the profile {}", profile)))?;
    let flags = u32_at(bytes, 12);
    ensure(flags < 4, || refused(Code::Tok2Flags, 12, format!("flags {}", flags)))?;
    let length = u32_at(bytes, 16) as usize;
    ensure(length == bytes.len() && length <= MOST_BYTES, || {
        let detail = format!("file_len {}, {} bytes there", length, bytes.len());
        refused(Code::Tok2Length, 16, detail)
    })?;
    ensure(bytes[RESERVED..HEADER].iter().all(|&byte| byte == 0), || {
        refused(Code::Tok2Reserved, RESERVED, "reserved bytes are not zero")
    })
}

fn counts(bytes: &[u8]) -> Result<Kind> {
    let limit = |at: usize, low: u32, high: u32| {
        let got = u32_at(bytes, at);
        ensure((low..=high).contains(&got), || {
            refused(Code::Tok2Limit, at, format!("{}, expected {} to {}", got, low, high))
        })
    };
    let profile = u32_at(bytes, 52);
    let (least, most) = [(1, 4), (5, 7), (8, 11)][profile as usize - 1];
    limit(28, least, most)?;
    let kind = Kind::ALL[u32_at(bytes, 28) as usize - 1];
    limit(32, 0, MOST_TOKENS)?;
    let tokens = u32_at(bytes, 32);
    let exact = tokens == 0 || kind.dense();
    limit(36, tokens, if exact { tokens } else { MOST_TOKENS })?;
    limit(40, 0, if kind.merges() { MOST_TOKENS } else { 0 })?;
    limit(44, 0, if profile < 3 { MOST_ADDED } else { 0 })?;
    Ok(kind)
}

fn directory(bytes: &[u8]) -> Result<Vec<Section<'_>>> {
    let mut sections = Vec::with_capacity(SECTIONS);
    let mut end = DIRECTORY_END;
    for (i, &code) in CODES.iter().enumerate() {
        let at = HEADER + 16 * i;
        let [kind, offset, length, reserved] =
            [0, 4, 8, 12].map(|field| u32_at(bytes, at + field) as usize);
        let rule = |holds: bool, field: usize, got: usize| {
            ensure(holds, || {
                let detail = format!("{} does not stand in row {} of the directory", got, i + 1);
                refused(Code::Tok2Section, at + field, detail)
            })
        };
        let expected = if length == 0 { 0 } else { (end + 15) / 16 * 16 };
        rule(kind == i + 1, 0, kind)?;
        rule(reserved == 0, 12, reserved)?;
        rule(offset == expected, 4, offset)?;
        rule(offset as u64 + length as u64 <= bytes.len() as u64, 8, length)?;
        sections.push(Section { bytes: &bytes[offset..offset + length], offset, code });
        end = if length == 0 { end } else { offset + length };
    }
    ensure(end == bytes.len(), || {
        refused(Code::Tok2Length, 16, format!("the last section ends at {}", end))
    })?;
    Ok(sections)
}

fn padding(bytes: &[u8], sections: &[Section]) -> Result<()> {
    let mut end = DIRECTORY_END;
    for section in sections.iter().filter(|section| !section.bytes.is_empty()) {
        if let Some(at) = bytes[end..section.offset].iter().position(|&byte| byte != 0) {
            return Err(refused(Code::Tok2Reserved, end + at, "padding is not zero"));
        }
        end = section.offset + section.bytes.len();
    }
    Ok(())
}

fn hashes(bytes: &[u8], sections: &[Section]) -> Result<()> {
    let (before, behind) = (&bytes[..SELF_HASH], &bytes[SELF_HASH + 32..]);
    let digest = sha256::digest(&[before, &[0; 32], behind]);
    ensure(digest == bytes[SELF_HASH..SELF_HASH + 32], || {
        refused(Code::Tok2Hash, SELF_HASH, "self_sha256 is not that of the block")
    })?;
    let template = sections[SECTIONS - 1].bytes;
    let wanted = if template.is_empty() { [0; 32] } else { sha256::digest(&[template]) };
    ensure(wanted == bytes[TEMPLATE_HASH..TEMPLATE_HASH + 32], || {
        refused(Code::Tok2Hash, TEMPLATE_HASH, "template_sha256 is not that of the template")
    })
}
