//! A tokenizer of SLM1 as TOK2: byte-level BPE with BOS and EOS put around by the post-processor.
//!
//! Pools and stages are the same for all of them; docs/formats/slm1-tokenizers.md lists them.

use super::hidden::HIDDEN;
use super::Source;
use crate::bytes::reserve;
use crate::error::{ensure, Code, Error, Result};
use crate::text::byte_chars::visible;
use crate::text::scalars::push;
use crate::text::tok2::section::NONE;
use crate::text::tok2::write::{put, Counts, Writer};
use crate::text::tok2::write_vocabulary::Words;

const LONGEST_TOKEN: usize = 65_535;
/// Bytes of all tokens together.
const MOST_BYTES: usize = 1 << 26;
const MOST_MERGES: usize = 1 << 24;

/// Special tokens have no bytes. Their texts hold a space, which the visible characters of bytes
/// are not, so that none comes out of a text, and decoding finds and drops them.
const NAMES: [&str; 4] = ["<bos> ", "<eos> ", "<pad> ", "<unk> "];

/// In the order in which they are referred to.
const STRINGS: [&str; 13] = [
    "<unk> ",
    "",
    "ByteLevel",
    "TemplateProcessing",
    "Replace",
    "<bos> ",
    "<eos> ",
    "<",
    "bos",
    "eos",
    "pad",
    "unk",
    "> ",
];
const UNK: u32 = 0;
const EMPTY: u32 = 1;
const BYTE_LEVEL: u32 = 2;
const TEMPLATE: u32 = 3;
const REPLACE: u32 = 4;
const BOS: u32 = 5;
const EOS: u32 = 6;

/// The texts of special tokens, `<(?:bos|eos|pad|unk)> `: op, a, b and size of each node.
const PATTERN: [[u32; 4]; 8] = [
    [4, 0, 0, 8],
    [2, 7, 0, 1],
    [5, 0, 0, 5],
    [2, 8, 0, 1],
    [2, 9, 0, 1],
    [2, 10, 0, 1],
    [2, 11, 0, 1],
    [2, 12, 0, 1],
];

/// Opcode, pointer, kind, and what operands there are: bytes as visible characters, BOS and EOS
/// around; then special tokens dropped, visible characters as bytes.
const STAGES: [[u32; 5]; 4] = [
    [19, EMPTY, BYTE_LEVEL, NONE, 0],
    [34, EMPTY, TEMPLATE, 0, 3],
    [55, EMPTY, REPLACE, 0, EMPTY],
    [49, EMPTY, BYTE_LEVEL, 0, 0],
];
const OPERANDS: usize = 9;

/// The block; Err where TOK2 has no room for the tokens or merges.
pub(super) fn block(source: &Source) -> Result<Vec<u8>> {
    let plain = || source.tokens.iter().filter(|(id, _)| !source.specials.contains(id));
    let texts = visible_texts(plain().map(|&(_, token)| token))?;
    let mut tokens: Vec<(&[u8], u32)> = Vec::new();
    reserve(&mut tokens, texts.ends.len() + NAMES.len())?;
    tokens.extend(texts.each().zip(plain().map(|&(id, _)| id)));
    tokens.extend(NAMES.iter().map(|name| name.as_bytes()).zip(source.specials));
    tokens.sort_unstable();
    within(source.merges.len(), MOST_MERGES, "the number of merges")?;
    let ranked = |(&[left, right, made], rank): (&[u32; 3], u32)| [left, right, rank, made];
    let merges: Vec<[u32; 4]> = source.merges.iter().zip(0..).map(ranked).collect();
    let highest = tokens.iter().map(|&(_, id)| id).max().unwrap_or(0);
    let words = Words { tokens: &tokens, id_limit: highest as usize + 1, merges };
    let counts = Counts {
        kind: 1,
        tokens: tokens.len(),
        id_limit: words.id_limit,
        merges: source.merges.len(),
    };
    let mut writer = Writer::new();
    pools(&mut writer)?;
    let [bos, eos, ..] = source.specials;
    numbers(&mut writer, &stages(bos, eos))?;
    numbers(&mut writer, &[0, NONE, NONE, 0])?;
    numbers(&mut writer, &[1, 0, UNK, NONE, NONE, 0, NONE, 0, 0, 0, 0, 0])?;
    words.write(&mut writer)?;
    numbers(&mut writer, &[])?;
    numbers(&mut writer, &[0])?;
    numbers(&mut writer, &[])?;
    Ok(writer.sealed(&counts))
}

/// Texts behind each other.
struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Texts {
    fn each(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(move |(start, &end)| &self.bytes[start..end])
    }
}

/// Tokens of bytes in visible characters, of one or two bytes each.
fn visible_texts<'t>(tokens: impl Iterator<Item = &'t [u8]> + Clone) -> Result<Texts> {
    let size = |token: &[u8]| token.len() + token.iter().filter(|&&b| visible(b) > 0x7f).count();
    let names = NAMES.iter().map(|name| name.len());
    let sizes = || tokens.clone().map(size).chain(names.clone());
    within(sizes().max().unwrap_or(0), LONGEST_TOKEN, "a token")?;
    let total = sizes().fold(0, usize::saturating_add);
    within(total, MOST_BYTES, "all tokens together")?;
    let mut texts = Texts { bytes: Vec::new(), ends: Vec::new() };
    reserve(&mut texts.bytes, total)?;
    reserve(&mut texts.ends, tokens.clone().count())?;
    for token in tokens {
        token.iter().for_each(|&byte| push(&mut texts.bytes, visible(byte)));
        texts.ends.push(texts.bytes.len());
    }
    Ok(texts)
}

fn within(count: usize, most: usize, what: &str) -> Result<()> {
    ensure(count <= most, || {
        Error::new(Code::Tok2Compile, what, format!("{}, TOK2 holds at most {}", count, most))
    })
}

/// Sections 1 to 4.
fn pools(writer: &mut Writer) -> Result<()> {
    let mut strings = vec![STRINGS.len() as u32];
    let mut end = 0;
    strings.extend(STRINGS.iter().map(|text| {
        end += text.len() as u32;
        end
    }));
    writer.section(4 * strings.len() + end as usize, |out| {
        put(out, &strings);
        STRINGS.iter().for_each(|text| out.extend_from_slice(text.as_bytes()));
    })?;
    let mut sets = vec![1, HIDDEN.len() as u32];
    sets.extend(HIDDEN.iter().flat_map(|&(low, high)| [low, high]));
    numbers(writer, &sets)?;
    numbers(writer, &[0; 4])?;
    let nodes = PATTERN.len() as u32;
    let mut patterns = vec![1, nodes, 0, 0];
    patterns.extend(PATTERN.iter().flatten());
    patterns.extend([0, nodes]);
    numbers(writer, &patterns)
}

/// Section 5: one pre-tokenizer, one post-processor, two decoders, three pieces.
fn stages(bos: u32, eos: u32) -> Vec<u32> {
    let mut stages = vec![0, 1, 1, 2, 3, 0, 0, 0];
    for stage in &STAGES {
        stages.extend(stage);
        stages.resize(stages.len() + OPERANDS - 2, 0);
    }
    stages.extend([bos, BOS, NONE, NONE, eos, EOS]);
    stages
}

fn numbers(writer: &mut Writer, numbers: &[u32]) -> Result<()> {
    writer.section(4 * numbers.len(), |out| put(out, numbers))
}
