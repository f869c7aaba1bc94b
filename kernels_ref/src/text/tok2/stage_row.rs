//! One row of the stages of a TOK2 block: its flags, what it is called, its operands by kind.

use super::pools::{Pool, Use};
use super::references::{References, COUNT_LIMIT};
use super::section::NONE;
use super::tables::Table;
use crate::bytes::u16_at;
use crate::error::Result;
use crate::text::charsmap::Charsmap;
use crate::text::post::Inserted;
use crate::text::pre_tokenizers::Step;
use crate::text::splitting::Behaviour;
use crate::text::tables::{Classes, Compositions, Map, Runs};

/// Bytes of a stage.
pub const STAGE: usize = 48;
/// Bytes of a piece of a template.
pub const PIECE: usize = 8;
const OPERANDS: usize = 9;
const FIRST_OPERAND: usize = 12;

const BEHAVIOURS: [Behaviour; 5] = [
    Behaviour::Removed,
    Behaviour::Isolated,
    Behaviour::MergedWithPrevious,
    Behaviour::MergedWithNext,
    Behaviour::Contiguous,
];

/// A post-processor whose pieces are not read yet.
pub enum Post {
    /// Whether a space was put in front, and the set of white space.
    Trim(bool, usize),
    /// The first piece, and how many.
    Template(usize, usize),
}

/// Where a stage stands in tokenizer.json, and what it is called there.
pub type Names<'a> = [&'a [u8]; 2];

/// Reads one stage after the other.
pub struct Reader<'r, 'a> {
    references: References<'r, 'a>,
    /// Stages of profile 2 are known.
    pub(super) gguf: bool,
    /// The stage.
    at: usize,
    flags: u16,
    /// Operands read so far.
    operands: usize,
    pieces: usize,
    taken: usize,
    /// Of the stages so far.
    names: Vec<Names<'a>>,
}

impl<'r, 'a> Reader<'r, 'a> {
    /// At the first stage, with so many pieces of templates behind all stages.
    pub fn new(
        references: References<'r, 'a>,
        gguf: bool,
        at: usize,
        pieces: usize,
    ) -> Reader<'r, 'a> {
        Reader { references, gguf, at, flags: 0, operands: 0, pieces, taken: 0, names: Vec::new() }
    }

    /// Pieces that templates have taken.
    pub fn taken(&self) -> usize {
        self.taken
    }

    /// References for the walk, and what the stages are called.
    pub fn parts(self) -> (Vec<Use>, Vec<Names<'a>>) {
        (self.references.uses, self.names)
    }

    pub(super) fn rule(&self, holds: bool, at: usize, detail: &str) -> Result<()> {
        self.references.section.ensure(holds, at, detail)
    }

    /// One stage: its opcode and flags, what it is called, its operands, and nothing else.
    pub fn stage<T>(&mut self, read: impl FnOnce(&mut Self, u16) -> Result<T>) -> Result<T> {
        let bytes = self.references.section.bytes;
        let opcode = u16_at(bytes, self.at);
        self.flags = u16_at(bytes, self.at + 2);
        self.operands = 0;
        let stage = read(self, opcode)?;
        self.require_unused()?;
        self.at += STAGE;
        Ok(stage)
    }

    /// The opcode is known: check the flags, note what the stage is called.
    pub(super) fn known(&mut self, flags: u16) -> Result<()> {
        self.rule(self.flags & !flags == 0, self.at + 2, "unknown flags")?;
        let names = [self.references.text(self.at + 4)?, self.references.text(self.at + 8)?];
        self.names.push(names);
        Ok(())
    }

    /// The same of a stage that has one name only.
    pub(super) fn known_as(&mut self, flags: u16, pointer: &[u8]) -> Result<()> {
        self.rule(self.flags & !flags == 0, self.at + 2, "unknown flags")?;
        let mut names: Names = [b"", b""];
        for (i, wanted) in [pointer, b"SentencePiece"].iter().enumerate() {
            names[i] = self.references.text(self.at + 4 + 4 * i)?;
            self.rule(names[i] == *wanted, self.at + 4 + 4 * i, "another name")?;
        }
        self.names.push(names);
        Ok(())
    }

    pub(super) fn unknown<T>(&self) -> Result<T> {
        Err(self.references.section.fault(self.at, "an opcode of another list, or of none"))
    }

    /// All flags.
    pub(super) fn flags(&self) -> u16 {
        self.flags
    }

    /// Refuse the flags unless a condition holds.
    pub(super) fn require_flags(&self, holds: bool) -> Result<()> {
        self.rule(holds, self.at + 2, "flags without meaning")
    }

    /// Whether one of the flags is set.
    pub(super) fn flag(&self, bit: u16) -> bool {
        self.flags & bit != 0
    }

    /// Where the next operand stands.
    fn operand(&mut self) -> usize {
        self.operands += 1;
        self.at + FIRST_OPERAND + 4 * (self.operands - 1)
    }

    pub(super) fn none<T>(&mut self) -> Result<Option<T>> {
        let at = self.operand();
        self.rule(self.references.section.u32(at) == NONE, at, "an operand without meaning")?;
        Ok(None)
    }

    pub(super) fn set(&mut self) -> Result<usize> {
        let at = self.operand();
        self.references.take(Pool::Sets, at)
    }

    pub(super) fn set_if(&mut self, wanted: bool) -> Result<Option<usize>> {
        if wanted {
            self.set().map(Some)
        } else {
            self.none()
        }
    }

    pub(super) fn text(&mut self) -> Result<&'a [u8]> {
        let at = self.operand();
        self.references.text(at)
    }

    /// A text that is not empty.
    pub(super) fn filled_text(&mut self) -> Result<&'a [u8]> {
        let at = self.operand();
        let text = self.references.text(at)?;
        self.rule(!text.is_empty(), at, "an empty text")?;
        Ok(text)
    }

    pub(super) fn pattern(&mut self) -> Result<usize> {
        let at = self.operand();
        self.references.take(Pool::Patterns, at)
    }

    pub(super) fn scalar(&mut self) -> Result<u32> {
        let at = self.operand();
        self.references.scalar(at)
    }

    pub(super) fn choice(&mut self, count: u32) -> Result<u32> {
        let at = self.operand();
        self.references.choice(count, at)
    }

    pub(super) fn count(&mut self, least: u32) -> Result<u32> {
        let at = self.operand();
        self.references.count(least, at)
    }

    pub(super) fn behaviour(&mut self) -> Result<Behaviour> {
        self.choice(5).map(|number| BEHAVIOURS[number as usize])
    }

    fn table(&mut self, kind: u32) -> Result<Table<'a>> {
        let at = self.operand();
        self.references.table(kind, at)
    }

    pub(super) fn map(&mut self) -> Result<Map<'a>> {
        match self.table(1)? {
            Table::Map(map) => Ok(map),
            _ => self.unknown(),
        }
    }

    pub(super) fn map_if(&mut self, wanted: bool) -> Result<Option<Map<'a>>> {
        if wanted {
            self.map().map(Some)
        } else {
            self.none()
        }
    }

    pub(super) fn classes(&mut self) -> Result<Classes<'a>> {
        match self.table(2)? {
            Table::Classes(classes) => Ok(classes),
            _ => self.unknown(),
        }
    }

    pub(super) fn compositions(&mut self) -> Result<Compositions<'a>> {
        match self.table(3)? {
            Table::Compositions(pairs) => Ok(pairs),
            _ => self.unknown(),
        }
    }

    pub(super) fn runs(&mut self) -> Result<Runs<'a>> {
        match self.table(4)? {
            Table::Runs(runs) => Ok(runs),
            _ => self.unknown(),
        }
    }

    pub(super) fn charsmap(&mut self) -> Result<Charsmap<'a>> {
        match self.table(5)? {
            Table::Charsmap(map) => Ok(map),
            _ => self.unknown(),
        }
    }

    /// A table whose keys are whole characters, or none.
    pub(super) fn rules_or_none(&mut self) -> Result<Option<Charsmap<'a>>> {
        let at = self.at + FIRST_OPERAND + 4 * self.operands;
        if self.references.section.u32(at) == NONE {
            return self.none();
        }
        let rules = self.charsmap()?;
        self.rule(rules.has_whole_keys(), at, "a key that ends within a character")?;
        Ok(Some(rules))
    }

    /// The pieces that a template takes: those behind the ones taken before.
    pub(super) fn pieces(&mut self) -> Result<(usize, usize)> {
        let (first, count) = (self.count(0)? as usize, self.count(0)? as usize);
        self.require_unused()?;
        let at = self.at + FIRST_OPERAND;
        self.rule(first == self.taken, at, "the first piece")?;
        self.rule(count <= self.pieces - first, at + 4, "too many pieces")?;
        self.taken += count;
        Ok((first, count))
    }

    /// The operands behind those read are 0.
    pub(super) fn require_unused(&self) -> Result<()> {
        (self.operands..OPERANDS).try_for_each(|operand| {
            let place = self.at + FIRST_OPERAND + 4 * operand;
            self.rule(self.references.section.u32(place) == 0, place, "an unused operand")
        })
    }

    pub(super) fn pattern_or_none(&mut self) -> Result<Option<usize>> {
        let at = self.operand();
        self.references.optional(Pool::Patterns, at)
    }

    pub(super) fn set_or_none(&mut self) -> Result<Option<usize>> {
        let at = self.operand();
        self.references.optional(Pool::Sets, at)
    }

    /// A map with one scalar for each key, and at least one key; or none.
    pub(super) fn letters_or_none(&mut self) -> Result<Option<Map<'a>>> {
        let at = self.at + FIRST_OPERAND + 4 * self.operands;
        if self.references.section.u32(at) == NONE {
            return self.none();
        }
        let map = self.map()?;
        self.rule(map.is_letters(), at, "a map that has not one scalar for each")?;
        Ok(Some(map))
    }

    /// What cuts a text, one step after the other: the rest of the operands.
    pub(super) fn steps(&mut self) -> Result<Vec<Step>> {
        let mut steps: Vec<Step> = self.set_or_none()?.map(Step::Numbers).into_iter().collect();
        let first = self.at + FIRST_OPERAND + 4;
        let (mut ended, mut gap) = (false, false);
        while self.operands < OPERANDS {
            match self.pattern_or_none()? {
                Some(pattern) => {
                    gap |= ended;
                    steps.push(Step::Pattern(pattern));
                }
                None => ended = true,
            }
        }
        self.rule(!gap, first, "a gap between patterns")?;
        Ok(steps)
    }

    /// The array of pieces behind the stages; None is the place of the text's own tokens.
    pub fn template_pieces(&mut self) -> Result<Vec<Option<Inserted<'a>>>> {
        let first = self.at;
        (0..self.pieces).map(|i| self.piece(first + PIECE * i)).collect()
    }

    fn piece(&mut self, at: usize) -> Result<Option<Inserted<'a>>> {
        let (id, text) = (self.references.section.u32(at), self.references.section.u32(at + 4));
        if id == NONE && text == NONE {
            return Ok(None);
        }
        self.rule(id < COUNT_LIMIT, at, "an id")?;
        let text = self.references.text(at + 4)?;
        Ok(Some(Inserted { id, text }))
    }
}
