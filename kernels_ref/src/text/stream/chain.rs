//! Decoders after one another, each told fragment by fragment what the one before it gives.
//!
//! A text between two stages comes in fragments, the last of which is marked; what all fragments
//! give, joined, is what the stage gives for the whole texts.

use super::growing::Growing;
use super::whole::Whole;
use crate::text::decoders::{Decoder, Manner};
use crate::text::pattern::{Pattern, Scratch};
use crate::text::Tokenizer;

/// A part of a text, and whether the text ends with it.
pub struct Fragment {
    /// The part.
    pub text: Vec<u8>,
    /// The text ends with it.
    pub ends: bool,
}

impl Fragment {
    /// More follows.
    pub fn open(text: Vec<u8>) -> Fragment {
        Fragment { text, ends: false }
    }

    /// The text ends here.
    pub fn last(text: Vec<u8>) -> Fragment {
        Fragment { text, ends: true }
    }
}

/// What stages work with.
pub struct With<'w, 'a> {
    /// The tokenizer whose decoders they are.
    pub owner: &'w Tokenizer<'a>,
    /// Memory of patterns.
    pub scratch: &'w mut Scratch,
}

/// One decoder and what it holds back.
#[derive(Clone)]
enum Stage {
    /// It takes fragments as they come.
    Growing(Growing),
    /// It takes whole texts; the one that is open waits.
    Whole(Vec<u8>, Whole),
}

impl Stage {
    fn new(number: usize, decoder: &Decoder, owner: &Tokenizer, manner: Manner) -> Stage {
        let whole = |stage| Stage::Whole(Vec::new(), stage);
        match decoder {
            Decoder::ByteLevel => whole(Whole::Bytes(Vec::new())),
            Decoder::ByteFallback if manner.lossy => whole(Whole::LossyRun(Vec::new())),
            Decoder::ByteFallback => whole(Whole::Run { open: false, bytes: Vec::new() }),
            Decoder::WordPiece(..) => whole(Whole::Each { decoder: number, first: true }),
            Decoder::Bpe(suffix) => whole(Whole::Suffixed { suffix: suffix.to_vec(), last: None }),
            Decoder::Ctc(..) => whole(Whole::Unrepeated { decoder: number, last: None }),
            Decoder::Pieces { visible, strip_first } => {
                whole(Whole::Pieces { visible: *visible, strip: *strip_first, bytes: Vec::new() })
            }
            Decoder::Metaspace(character, keeps) => {
                Stage::Growing(Growing::Metaspace { character: character.clone(), space: *keeps })
            }
            Decoder::Replace(pattern, content) => match &owner.patterns[*pattern] {
                Pattern::Literal(wanted) => Stage::Growing(Growing::literal(wanted, content)),
                _ => whole(Whole::Each { decoder: number, first: true }),
            },
            Decoder::Fuse => Stage::Growing(Growing::Fuse),
            Decoder::Strip(code, start, stop) => {
                Stage::Growing(Growing::strip(*code, *start, *stop))
            }
            Decoder::Tidied if manner.clean => Stage::Growing(Growing::Tidied(Vec::new())),
            Decoder::Tidied => Stage::Growing(Growing::Passed),
            Decoder::Sentence(decoder) if decoder.denormalizer.is_some() => {
                whole(Whole::AtEnd { decoder: number, texts: Vec::new() })
            }
            Decoder::Sentence(_) => whole(Whole::Sentence {
                decoder: number,
                run: Default::default(),
                bytes: Vec::new(),
            }),
        }
    }

    fn push(
        &mut self,
        fragment: Fragment,
        manner: Manner,
        with: &mut With,
        out: &mut Vec<Fragment>,
    ) {
        match self {
            Stage::Growing(stage) => out.push(stage.push(fragment)),
            Stage::Whole(open, stage) => {
                open.extend(fragment.text);
                if fragment.ends {
                    stage.one(std::mem::take(open), manner, with, out);
                }
            }
        }
    }

    fn finish(&mut self, manner: Manner, with: &mut With, out: &mut Vec<Fragment>) {
        match self {
            Stage::Growing(stage) => out.extend(stage.finish()),
            Stage::Whole(_, stage) => stage.finish(manner, with, out),
        }
    }
}

/// All decoders, or spaces where there is none.
#[derive(Clone)]
pub struct Chain {
    stages: Vec<Stage>,
    manner: Manner,
}

impl Chain {
    /// Before the first text.
    pub fn new(owner: &Tokenizer, manner: Manner) -> Chain {
        let decoders = owner.decoders.iter().enumerate();
        let mut stages: Vec<Stage> =
            decoders.map(|(number, one)| Stage::new(number, one, owner, manner)).collect();
        if stages.is_empty() {
            stages.push(Stage::Whole(Vec::new(), Whole::Spaced(false)));
        }
        Chain { stages, manner }
    }

    /// What follows from the text of one more token.
    pub fn push(&mut self, text: Vec<u8>, mut with: With) -> Vec<u8> {
        let mut fragments = vec![Fragment::last(text)];
        for stage in &mut self.stages {
            fragments = through(stage, fragments, self.manner, &mut with);
        }
        joined(fragments)
    }

    /// What is left when no text follows.
    pub fn finish(&mut self, mut with: With) -> Vec<u8> {
        let mut fragments = Vec::new();
        for stage in &mut self.stages {
            fragments = through(stage, fragments, self.manner, &mut with);
            stage.finish(self.manner, &mut with, &mut fragments);
        }
        joined(fragments)
    }
}

fn through(
    stage: &mut Stage,
    fragments: Vec<Fragment>,
    manner: Manner,
    with: &mut With,
) -> Vec<Fragment> {
    let mut out = Vec::with_capacity(fragments.len());
    fragments.into_iter().for_each(|one| stage.push(one, manner, with, &mut out));
    out
}

fn joined(fragments: Vec<Fragment>) -> Vec<u8> {
    let mut texts = fragments.into_iter().map(|one| one.text);
    let mut out = texts.next().unwrap_or_default();
    texts.for_each(|text| out.extend(text));
    out
}
