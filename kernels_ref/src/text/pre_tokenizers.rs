//! Pre-tokenizers: each cuts a piece into pieces, and may write them in other characters.

use super::pattern::Pattern;
use super::splitting::Behaviour;
use super::tables::{Map, Runs};

/// One stage; numbers name patterns.
pub enum PreTokenizer<'a> {
    /// A pattern with a behaviour; inverted, everything else is the match.
    Split {
        /// The pattern.
        pattern: usize,
        /// What becomes of a match.
        behaviour: Behaviour,
        /// Whether what lies between is the match.
        invert: bool,
    },
    /// Every scalar of a set with a behaviour.
    Each {
        /// The scalars.
        pattern: Pattern,
        /// What becomes of each.
        behaviour: Behaviour,
    },
    /// A pattern if there is one, then bytes as visible characters.
    ByteLevel {
        /// A space is put in front.
        space: bool,
        /// Cuts before.
        pattern: Option<usize>,
    },
    /// Spaces become a visible character, and words are cut at it.
    Metaspace(Metaspace),
    /// Pieces of so many scalars.
    Fixed(u32),
    /// Runs of one script.
    Scripts(Runs<'a>),
    /// Each step cuts what the one before left.
    Steps(Vec<Step>),
    /// Words of cleaned scalars.
    Words(WordCuts<'a>),
}

/// The character, when it is put in front, and whether words are cut.
pub struct Metaspace {
    /// The character.
    pub code: u32,
    /// The same in UTF-8.
    pub text: Vec<u8>,
    /// Put in front of every piece.
    pub always: bool,
    /// Put in front of the piece that begins the text.
    pub first: bool,
    /// Words are cut.
    pub cuts: bool,
    /// The character as what words are cut at.
    pub pattern: Pattern,
    /// It begins a word.
    pub behaviour: Behaviour,
}

/// One cutting of several, by the number of a set or of a pattern.
#[derive(Clone, Copy)]
pub enum Step {
    /// Runs of these scalars into threes from the right.
    Numbers(usize),
    /// Matches apart.
    Pattern(usize),
}

/// Words by what scalars do; numbers name sets.
pub struct WordCuts<'a> {
    /// What a scalar is judged as.
    pub plain: Option<Map<'a>>,
    /// Ends a word.
    pub space: usize,
    /// Left out.
    pub lost: usize,
    /// A word of its own.
    pub apart: usize,
    /// How a judged scalar is written.
    pub lower: Option<Map<'a>>,
}
