//! The stages of a TOK2 block under a strict reader.

use super::pools::{Pools, Use};
use super::references::References;
use super::section::Section;
use super::sentence::SentenceStages;
use super::stage_row::{Names, Post, Reader, PIECE, STAGE};
use crate::error::Result;
use crate::text::decoders::Decoder;
use crate::text::normalizers::Normalizer;
use crate::text::post::PostProcessor;
use crate::text::pre_tokenizers::PreTokenizer;

const HEAD: usize = 32;
const MOST_STAGES: usize = 256;
const MOST_PIECES: usize = 65_536;

/// Section 5.
#[derive(Default)]
pub struct Stages<'a> {
    /// In order.
    pub normalizers: Vec<Normalizer<'a>>,
    /// In order.
    pub pre_tokenizers: Vec<PreTokenizer<'a>>,
    /// In order.
    pub post_processors: Vec<PostProcessor<'a>>,
    /// The sets of white space that trimming asks for, each once.
    pub trimmed: Vec<usize>,
    /// In order.
    pub decoders: Vec<Decoder<'a>>,
    /// The two stages of profile 3, which has no others.
    pub sentence: Option<SentenceStages<'a>>,
    /// What all of them are called, in this order.
    pub names: Vec<Names<'a>>,
    /// References for the walk.
    pub uses: Vec<Use>,
}

/// Read section 5.
pub fn read_stages<'a>(
    section: Section<'a>,
    pools: &Pools<'a>,
    profile: u32,
) -> Result<Stages<'a>> {
    section.need(HEAD as u64, 0)?;
    let counts = [0, 4, 8, 12].map(|at| section.u32(at) as usize);
    let whole = profile == 3;
    for (i, &count) in counts.iter().enumerate() {
        let one = usize::from(i % 3 == 0);
        let good = if whole { count == one } else { count <= MOST_STAGES };
        section.ensure(good, 4 * i, "the number of stages")?;
    }
    let pieces = section.u32(16) as usize;
    section.ensure(pieces <= if whole { 0 } else { MOST_PIECES }, 16, "too many pieces")?;
    section.zeros(20, 12)?;
    let total: usize = counts.iter().sum();
    section.exactly((HEAD + STAGE * total + PIECE * pieces) as u64, 0)?;
    let references = References::new(section, pools);
    let mut reader = Reader::new(references, profile == 2, HEAD, pieces);
    let mut stages = Stages::default();
    if whole {
        stages.sentence = Some(reader.sentence()?);
        let (uses, names) = reader.parts();
        return Ok(Stages { uses, names, ..stages });
    }
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
    let is_pieces = |one: &&Decoder| matches!(one, Decoder::Pieces { .. });
    let decoded = stages.decoders.iter().filter(is_pieces).count();
    let wanted = usize::from(profile == 2);
    section.ensure(decoded == wanted, 12, "another number of stages of pieces")?;
    section.ensure(reader.taken() == pieces, 16, "pieces of no template")?;
    let pieces = reader.template_pieces()?;
    for post in templates {
        stages.post_processors.push(match post {
            Post::Trim(prefix_space, set) => {
                let known = stages.trimmed.iter().position(|&other| other == set);
                let number = known.unwrap_or(stages.trimmed.len());
                if known.is_none() {
                    stages.trimmed.push(set);
                }
                PostProcessor::Trim(prefix_space, number)
            }
            Post::Template(first, count) => {
                PostProcessor::Template(pieces[first..first + count].to_vec())
            }
        });
    }
    let (uses, names) = reader.parts();
    Ok(Stages { uses, names, ..stages })
}
