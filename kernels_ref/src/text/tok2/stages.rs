//! Stages and added tokens of a TOK2 block under a strict reader.

use super::pools::{Pool, Pools, Table, Use};
use super::references::{References, COUNT_LIMIT};
use super::section::{Section, NONE};
use crate::bytes::u16_at;
use crate::error::Result;
use crate::text::added::AddedToken;
use crate::text::charsmap::Charsmap;
use crate::text::clusters::ClusterSets;
use crate::text::decoders::Decoder;
use crate::text::normal_forms::Form;
use crate::text::normalizers::{Bert, Normalizer};
use crate::text::pattern::Pattern;
use crate::text::post::PostProcessor;
use crate::text::pre_tokenizers::{Metaspace, PreTokenizer};
use crate::text::scalars::push;
use crate::text::splitting::Behaviour;
use crate::text::tables::{Classes, Compositions, Map, Runs};

const HEAD: usize = 32;
const STAGE: usize = 48;
const PIECE: usize = 8;
const OPERANDS: usize = 9;
const FIRST_OPERAND: usize = 12;
const MOST_STAGES: usize = 256;
const MOST_PIECES: usize = 65_536;

const BEHAVIOURS: [Behaviour; 5] = [
    Behaviour::Removed,
    Behaviour::Isolated,
    Behaviour::MergedWithPrevious,
    Behaviour::MergedWithNext,
    Behaviour::Contiguous,
];

/// Section 5.
#[derive(Default)]
pub struct Stages<'a> {
    /// In order.
    pub normalizers: Vec<Normalizer<'a>>,
    /// In order.
    pub pre_tokenizers: Vec<PreTokenizer<'a>>,
    /// In order.
    pub post_processors: Vec<PostProcessor>,
    /// The set of white space of each trimming, in order.
    pub trimmed: Vec<usize>,
    /// In order.
    pub decoders: Vec<Decoder<'a>>,
    /// References for the walk.
    pub uses: Vec<Use>,
}

/// Section 6.
pub struct Added<'a> {
    /// In the source's order.
    pub tokens: Vec<AddedToken<'a>>,
    /// Word characters.
    pub word: Option<usize>,
    /// White space.
    pub space: Option<usize>,
    /// References for the walk.
    pub uses: Vec<Use>,
}

/// Read section 5.
pub fn read_stages<'a>(section: Section<'a>, pools: &Pools<'a>) -> Result<Stages<'a>> {
    section.need(HEAD as u64, 0)?;
    let counts = [0, 4, 8, 12].map(|at| section.u32(at) as usize);
    for (i, &count) in counts.iter().enumerate() {
        section.ensure(count <= MOST_STAGES, 4 * i, "too many stages")?;
    }
    let pieces = section.u32(16) as usize;
    section.ensure(pieces <= MOST_PIECES, 16, "too many pieces")?;
    section.zeros(20, 12)?;
    let total: usize = counts.iter().sum();
    section.exactly((HEAD + STAGE * total + PIECE * pieces) as u64, 0)?;
    let references = References::new(section, pools);
    let mut reader = Reader { references, at: HEAD, flags: 0, operands: 0, pieces, taken: 0 };
    let mut stages = Stages::default();
    for _ in 0..counts[0] {
        stages.normalizers.push(reader.stage(Reader::normalizer)?);
    }
    for _ in 0..counts[1] {
        stages.pre_tokenizers.push(reader.stage(Reader::pre_tokenizer)?);
    }
    let mut templates = Vec::new();
    for _ in 0..counts[2] {
        templates.push(reader.stage(Reader::post_processor)?);
    }
    for _ in 0..counts[3] {
        stages.decoders.push(reader.stage(Reader::decoder)?);
    }
    section.ensure(reader.taken == pieces, 16, "pieces of no template")?;
    let pieces = reader.template_pieces()?;
    for post in templates {
        stages.post_processors.push(match post {
            Post::Trim(prefix_space, set) => {
                stages.trimmed.push(set);
                PostProcessor::Trim(prefix_space)
            }
            Post::Template(first, count) => {
                PostProcessor::Template(pieces[first..first + count].to_vec())
            }
        });
    }
    stages.uses = reader.references.uses;
    Ok(stages)
}

/// A post-processor whose pieces are not read yet.
enum Post {
    Trim(bool, usize),
    Template(usize, usize),
}

/// Reads one stage after the other.
struct Reader<'r, 'a> {
    references: References<'r, 'a>,
    /// The stage.
    at: usize,
    flags: u16,
    /// Operands read so far.
    operands: usize,
    pieces: usize,
    taken: usize,
}

impl<'r, 'a> Reader<'r, 'a> {
    fn rule(&self, holds: bool, at: usize, detail: &str) -> Result<()> {
        self.references.section.ensure(holds, at, detail)
    }

    /// One stage: its opcode and flags, what it is called, its operands, and nothing else.
    fn stage<T>(&mut self, read: impl FnOnce(&mut Self, u16) -> Result<T>) -> Result<T> {
        let bytes = self.references.section.bytes;
        let opcode = u16_at(bytes, self.at);
        self.flags = u16_at(bytes, self.at + 2);
        self.operands = 0;
        let stage = read(self, opcode)?;
        for operand in self.operands..OPERANDS {
            let place = self.at + FIRST_OPERAND + 4 * operand;
            self.rule(self.references.section.u32(place) == 0, place, "an unused operand")?;
        }
        self.at += STAGE;
        Ok(stage)
    }

    /// The opcode is known: check the flags, note what the stage is called.
    fn known(&mut self, flags: u16) -> Result<()> {
        self.rule(self.flags & !flags == 0, self.at + 2, "unknown flags")?;
        self.references.text(self.at + 4)?;
        self.references.text(self.at + 8).map(|_| ())
    }

    fn unknown<T>(&self) -> Result<T> {
        Err(self.references.section.fault(self.at, "an opcode of another list, or of none"))
    }

    /// Whether one of the flags is set.
    fn flag(&self, bit: u16) -> bool {
        self.flags & bit != 0
    }

    /// Where the next operand stands.
    fn operand(&mut self) -> usize {
        self.operands += 1;
        self.at + FIRST_OPERAND + 4 * (self.operands - 1)
    }

    fn none<T>(&mut self) -> Result<Option<T>> {
        let at = self.operand();
        self.rule(self.references.section.u32(at) == NONE, at, "an operand without meaning")?;
        Ok(None)
    }

    fn set(&mut self) -> Result<usize> {
        let at = self.operand();
        self.references.take(Pool::Sets, at)
    }

    fn set_if(&mut self, wanted: bool) -> Result<Option<usize>> {
        if wanted {
            self.set().map(Some)
        } else {
            self.none()
        }
    }

    fn text(&mut self) -> Result<&'a [u8]> {
        let at = self.operand();
        self.references.text(at)
    }

    fn pattern(&mut self) -> Result<usize> {
        let at = self.operand();
        self.references.take(Pool::Patterns, at)
    }

    fn scalar(&mut self) -> Result<u32> {
        let at = self.operand();
        self.references.scalar(at)
    }

    fn choice(&mut self, count: u32) -> Result<u32> {
        let at = self.operand();
        self.references.choice(count, at)
    }

    fn count(&mut self, least: u32) -> Result<u32> {
        let at = self.operand();
        self.references.count(least, at)
    }

    fn behaviour(&mut self) -> Result<Behaviour> {
        self.choice(5).map(|number| BEHAVIOURS[number as usize])
    }

    fn table(&mut self, kind: u32) -> Result<Table<'a>> {
        let at = self.operand();
        self.references.table(kind, at)
    }

    fn map(&mut self) -> Result<Map<'a>> {
        match self.table(1)? {
            Table::Map(map) => Ok(map),
            _ => self.unknown(),
        }
    }

    fn map_if(&mut self, wanted: bool) -> Result<Option<Map<'a>>> {
        if wanted {
            self.map().map(Some)
        } else {
            self.none()
        }
    }

    fn classes(&mut self) -> Result<Classes<'a>> {
        match self.table(2)? {
            Table::Classes(classes) => Ok(classes),
            _ => self.unknown(),
        }
    }

    fn compositions(&mut self) -> Result<Compositions<'a>> {
        match self.table(3)? {
            Table::Compositions(pairs) => Ok(pairs),
            _ => self.unknown(),
        }
    }

    fn runs(&mut self) -> Result<Runs<'a>> {
        match self.table(4)? {
            Table::Runs(runs) => Ok(runs),
            _ => self.unknown(),
        }
    }

    fn charsmap(&mut self) -> Result<Charsmap<'a>> {
        match self.table(5)? {
            Table::Charsmap(map) => Ok(map),
            _ => self.unknown(),
        }
    }

    fn normalizer(&mut self, opcode: u16) -> Result<Normalizer<'a>> {
        let flags = match opcode {
            5 => 3,
            9 => 15,
            1..=10 => 0,
            _ => return self.unknown(),
        };
        self.known(flags)?;
        Ok(match opcode {
            1 => Normalizer::Form(self.form()?),
            2 => Normalizer::Lower(self.map()?),
            3 => Normalizer::Without(self.set()?),
            4 => Normalizer::Nmt(self.set()?, self.set()?),
            5 => Normalizer::Strip(self.flag(1), self.flag(2), self.set()?),
            6 => Normalizer::Replace(self.pattern()?, self.text()?),
            7 => Normalizer::Prepend(self.text()?),
            8 => Normalizer::Bytes,
            9 => Normalizer::Bert(self.bert()?),
            _ => Normalizer::Precompiled(self.charsmap()?, self.borders()?),
        })
    }

    fn form(&mut self) -> Result<Form<'a>> {
        let form = self.choice(4)?;
        let canonical = self.map()?;
        let compatible = self.map_if(form >= 2)?;
        let classes = self.classes()?;
        let composed = if form % 2 == 0 { Some(self.compositions()?) } else { self.none()? };
        Ok(Form { canonical, compatible, classes, composed })
    }

    fn bert(&mut self) -> Result<Bert<'a>> {
        let [clean, chinese, accents, lower] = [1, 2, 4, 8].map(|bit| self.flag(bit));
        let (removed, space) = (self.set_if(clean)?, self.set_if(clean)?);
        let ideographs = self.set_if(chinese)?;
        let canonical = self.map_if(accents)?;
        let classes = if accents { Some(self.classes()?) } else { self.none()? };
        let marks = self.set_if(accents)?;
        let form = canonical.zip(classes).map(|(canonical, classes)| Form {
            canonical,
            compatible: None,
            classes,
            composed: None,
        });
        let lower = self.map_if(lower)?;
        Ok(Bert { clean: removed.zip(space), ideographs, accents: form.zip(marks), lower })
    }

    fn borders(&mut self) -> Result<ClusterSets> {
        Ok(ClusterSets {
            joined: self.set()?,
            prepend: self.set()?,
            control: self.set()?,
            pictographic: self.set()?,
            consonant: self.set()?,
            linker: self.set()?,
            middle: self.set()?,
        })
    }

    fn pre_tokenizer(&mut self, opcode: u16) -> Result<PreTokenizer<'a>> {
        let flags = match opcode {
            17 | 19 | 20 => 1,
            18 | 21 | 22 => 0,
            _ => return self.unknown(),
        };
        self.known(flags)?;
        let flag = self.flag(1);
        Ok(match opcode {
            17 => PreTokenizer::Split {
                pattern: self.pattern()?,
                behaviour: self.behaviour()?,
                invert: flag,
            },
            18 => PreTokenizer::Each {
                pattern: Pattern::Each(self.set()?),
                behaviour: self.behaviour()?,
            },
            19 => PreTokenizer::ByteLevel { space: flag, pattern: self.pattern_or_none()? },
            20 => PreTokenizer::Metaspace(self.metaspace(flag)?),
            21 => PreTokenizer::Fixed(self.count(1)?),
            _ => PreTokenizer::Scripts(self.runs()?),
        })
    }

    fn pattern_or_none(&mut self) -> Result<Option<usize>> {
        let at = self.operand();
        self.references.optional(Pool::Patterns, at)
    }

    fn metaspace(&mut self, cuts: bool) -> Result<Metaspace> {
        let code = self.scalar()?;
        let scheme = self.choice(3)?;
        let mut text = Vec::new();
        push(&mut text, code);
        let pattern = Pattern::Literal(text.clone());
        let (always, first) = (scheme == 0, scheme == 1);
        let behaviour = Behaviour::MergedWithNext;
        Ok(Metaspace { code, text, always, first, cuts, pattern, behaviour })
    }

    fn post_processor(&mut self, opcode: u16) -> Result<Post> {
        let flags = match opcode {
            33 => 1,
            34 => 0,
            _ => return self.unknown(),
        };
        self.known(flags)?;
        if opcode == 33 {
            return Ok(Post::Trim(self.flag(1), self.set()?));
        }
        let (first, count) = (self.count(0)? as usize, self.count(0)? as usize);
        self.rule(self.unused(), self.first_unused(), "an unused operand")?;
        let at = self.at + FIRST_OPERAND;
        self.rule(first == self.taken, at, "the first piece")?;
        self.rule(count <= self.pieces - first, at + 4, "too many pieces")?;
        self.taken += count;
        Ok(Post::Template(first, count))
    }

    /// Whether the operands behind those read are 0; they come before what a stage says of itself.
    fn unused(&self) -> bool {
        self.first_unused() == self.at + STAGE
    }

    fn first_unused(&self) -> usize {
        let start = self.at + FIRST_OPERAND + 4 * self.operands;
        let mut places = (start..self.at + STAGE).step_by(4);
        places.find(|&at| self.references.section.u32(at) != 0).unwrap_or(self.at + STAGE)
    }

    fn decoder(&mut self, opcode: u16) -> Result<Decoder<'a>> {
        let flags = match opcode {
            51 | 54 => 1,
            49..=57 => 0,
            _ => return self.unknown(),
        };
        self.known(flags)?;
        let flag = self.flag(1);
        Ok(match opcode {
            49 => Decoder::ByteLevel,
            50 => Decoder::ByteFallback,
            51 => Decoder::WordPiece(self.text()?, flag),
            52 => {
                let mut text = Vec::new();
                push(&mut text, self.scalar()?);
                Decoder::Metaspace(text, self.choice(3)? == 2)
            }
            53 => Decoder::Bpe(self.text()?),
            54 => Decoder::Ctc(self.text()?, self.text()?, flag),
            55 => Decoder::Replace(self.pattern()?, self.text()?),
            56 => Decoder::Fuse,
            _ => Decoder::Strip(self.scalar()?, self.count(0)?, self.count(0)?),
        })
    }

    /// The array of pieces behind the stages; None is the place of the text's own tokens.
    fn template_pieces(&mut self) -> Result<Vec<Option<u32>>> {
        let first = self.at;
        (0..self.pieces).map(|i| self.piece(first + PIECE * i)).collect()
    }

    fn piece(&mut self, at: usize) -> Result<Option<u32>> {
        let (id, text) = (self.references.section.u32(at), self.references.section.u32(at + 4));
        if id == NONE && text == NONE {
            return Ok(None);
        }
        self.rule(id < COUNT_LIMIT, at, "an id")?;
        self.references.text(at + 4)?;
        Ok(Some(id))
    }
}

/// Read section 6.
pub fn read_added<'a>(section: Section<'a>, pools: &Pools<'a>, count: usize) -> Result<Added<'a>> {
    let mut references = References::new(section, pools);
    section.ensure(section.u32(0) as usize == count, 0, "another number of added tokens")?;
    let word = references.optional(Pool::Sets, 4)?;
    let space = references.optional(Pool::Sets, 8)?;
    section.zeros(12, 4)?;
    let mut tokens: Vec<AddedToken> = Vec::with_capacity(count);
    let mut seen = std::collections::HashSet::with_capacity(count);
    for at in (16..16 + 16 * count).step_by(16) {
        let token = added(&mut references, at)?;
        let own = !token.content.is_empty() && seen.insert(token.content);
        section.ensure(own, at + 8, "a content that is empty or there already")?;
        tokens.push(token);
    }
    let needs_word = tokens.iter().any(|token| token.single_word);
    section.ensure(word.is_some() == needs_word, 4, "a set for single_word, or none")?;
    let needs_space = tokens.iter().any(|token| token.lstrip || token.rstrip);
    section.ensure(space.is_some() == needs_space, 8, "a set for lstrip and rstrip, or none")?;
    Ok(Added { tokens, word, space, uses: references.uses })
}

fn added<'a>(references: &mut References<'_, 'a>, at: usize) -> Result<AddedToken<'a>> {
    let section = references.section;
    let (id, flags) = (section.u32(at), section.u32(at + 4));
    section.ensure(id < COUNT_LIMIT, at, "an id")?;
    section.ensure(flags < 32, at + 4, "unknown flags")?;
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
