//! Tokenizers: texts to ids with offsets, ids to bytes, out of TOK2, BTOK or BPE1 alone.
//!
//! The bytes of a TOK2 block hold all that a tokenizer needs, Unicode data too, and are used where
//! they lie. Ids, offsets and bytes are those of the `tokenizers` library. Every text ends, and in
//! memory that is a multiple of its length: merging is n log n, nothing recurses by the text.

pub mod added;
pub mod aligned;
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
use self::aligned::{Changed, View};
use self::decoders::Decoder;
use self::encode::Run;
use self::models::borders::Borders;
use self::models::{IdSet, Model};
use self::normalizers::{Normalizer, Tools};
use self::pattern::node::Node;
use self::pattern::{Pattern, Program};
use self::post::{PostProcessor, Trimming};
use self::pre_tokenizers::PreTokenizer;
use self::sentencepiece::Sentence;
use self::sets::ScalarSet;
use self::state::{Offsets, Request, State};
use self::trace::{Recorder, Trace, Tracing, Untraced};
use self::vocabulary::{Vocabulary, NONE};
use crate::error::{ensure, Code, Error, Result};
use std::borrow::Cow;
use std::collections::HashSet;

/// Bytes of one text at most, and scalars.
pub const MOST_BYTES: usize = 64 << 20;
/// Both bounds hold.
pub const MOST_SCALARS: usize = 16 << 20;

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

impl<'a> Tokenizer<'a> {
    /// Open a block in place.
    pub fn open(bytes: &'a [u8]) -> Result<Tokenizer<'a>> {
        let block = tok2::read(bytes)?;
        let sets: Vec<ScalarSet> = block.pools.sets.into_iter().map(ScalarSet::new).collect();
        let patterns = block.pools.patterns.iter().map(|node| pattern(node, &sets));
        let patterns = patterns.collect::<Result<Vec<Pattern>>>()?;
        let added = block.added.tokens;
        let stages = block.stages;
        let ids = |wanted: &dyn Fn(&AddedToken) -> bool| {
            added.iter().filter(|token| wanted(token)).map(|token| token.id).collect::<Vec<_>>()
        };
        let special = IdSet::new(ids(&|token| token.special));
        let mut model = block.model;
        let plain_bytes = take_plain_bytes(&mut model, &stages.pre_tokenizers, &special);
        let vocabulary = block.vocabulary;
        if let Model::Bpe(bpe) = &mut model {
            bpe.borders = bpe.can_be_cut().then(|| Borders::new(&bpe.merges, &vocabulary));
        }
        let gguf = block.profile == 2;
        let unknown = if gguf { None } else { model.unknown_id() };
        let hidden = special.ids().iter().copied().filter(|&id| Some(id) != unknown).collect();
        let trimming = |&set: &usize| Trimming::new(set, &sets, &vocabulary, &model);
        let trimmings = stages.trimmed.iter().map(trimming).collect();
        let mut tokenizer = Tokenizer {
            sets,
            patterns,
            normalizers: stages.normalizers,
            pre_tokenizers: stages.pre_tokenizers,
            post_processors: stages.post_processors,
            decoders: stages.decoders,
            added_by_id: by_id(&added),
            special_texts: special_texts(&added),
            added,
            added_forms: Vec::new(),
            word: block.added.word,
            space: block.added.space,
            given: Matcher::new(std::iter::empty()),
            normalized: Matcher::new(std::iter::empty()),
            hidden_set: block.hidden,
            vocabulary,
            model,
            hidden: IdSet::new(hidden),
            trimmings,
            kinds: block.kinds.as_ref().map_or(&[], |kinds| kinds.kinds),
            real: block.kinds.as_ref().map_or(NONE, |kinds| kinds.real),
            partitioned: gguf,
            keeps_places: gguf,
            plain_bytes,
            names: Names { stages: stages.names, model: block.model_name },
            sentence: block.sentence,
            made: None,
        };
        tokenizer.added_forms = tokenizer.forms();
        tokenizer.require_forms(block.added.contents_at)?;
        tokenizer.given = tokenizer.matcher(false);
        tokenizer.normalized = tokenizer.matcher(true);
        Ok(tokenizer)
    }

    /// Finds the tokens of one group.
    fn matcher(&self, normalized: bool) -> Matcher {
        let group = self.added.iter().enumerate().filter(|(_, one)| one.normalized == normalized);
        Matcher::new(group.map(|(i, _)| (self.added_forms[i].to_vec(), i)))
    }

    /// Rules 26 and 27: what is looked for is a text, and that of one token.
    fn require_forms(&self, contents_at: usize) -> Result<()> {
        let refusal = |index: usize, detail| {
            Err(Error::new(Code::Tok2Added, format!("byte {}", contents_at + 16 * index), detail))
        };
        if let Some(index) = self.added_forms.iter().position(|form| form.is_empty()) {
            return refusal(index, "a content that the normalizers leave nothing of");
        }
        let mut seen = HashSet::with_capacity(self.added.len());
        for (index, token) in self.added.iter().enumerate() {
            if token.normalized && !seen.insert(&self.added_forms[index]) {
                return refusal(index, "a content that the normalizers write as one before it");
            }
        }
        Ok(())
    }

    fn forms(&self) -> Vec<Cow<'a, [u8]>> {
        let form = |token: &AddedToken<'a>| match token.normalized {
            true => Cow::Owned(self.normalize(token.content)),
            false => Cow::Borrowed(token.content),
        };
        self.added.iter().map(form).collect()
    }

    fn normalize(&self, text: &[u8]) -> Vec<u8> {
        let mut scratch = pattern::Scratch::default();
        let mut made: Option<Changed> = None;
        for stage in &self.normalizers {
            let now = made.as_ref().map_or(View::whole(text), Changed::view);
            if let Some(changed) = stage.apply(now, &self.tools(), &mut scratch) {
                made = Some(changed);
            }
        }
        made.map_or(text.to_vec(), |changed| changed.text)
    }

    fn tools(&self) -> Tools<'_> {
        Tools {
            sets: &self.sets,
            patterns: &self.patterns,
            vocabulary: &self.vocabulary,
            kinds: self.kinds,
        }
    }

    /// The tokens of a text, written into `state`; `insert` allows what post-processors put around.
    /// After an error the state holds no token.
    pub fn encode(&self, request: &Request, insert: bool, state: &mut State) -> Result<()> {
        self.encode_with(request, insert, state, &mut Untraced)
    }

    /// The same, and what the text is after each stage.
    pub fn traced(&self, request: &Request, insert: bool, state: &mut State) -> Result<Trace> {
        let mut recorder = Recorder::new(self, request.text);
        let done = self.encode_with(request, insert, state, &mut recorder);
        let done = done.and_then(|()| recorder.finish());
        if done.is_err() {
            state.clear();
        }
        done
    }

    fn encode_with<T: Tracing>(
        &self,
        request: &Request,
        insert: bool,
        state: &mut State,
        trace: &mut T,
    ) -> Result<()> {
        state.clear();
        state.edges.resize_with(self.trimmings.len(), Vec::new);
        let text = request.text;
        require_text(text)?;
        require_content(text, request.content)?;
        let done = match &self.sentence {
            Some(sentence) => sentence.tokens(self, text, state, trace),
            None => Run::tokens(self, request, state, trace),
        };
        if let Err(error) = done.and_then(|()| trace.require_room()) {
            state.clear();
            return Err(error);
        }
        trace.model(self, state);
        for (number, stage) in self.post_processors.iter().enumerate() {
            stage.apply(text, state, insert);
            trace.post_processor(self, number, state, insert);
        }
        Ok(())
    }
}

fn require_text(text: &[u8]) -> Result<()> {
    require_length(text.len(), MOST_BYTES, "bytes")?;
    scalars::require_utf8(text)?;
    if text.len() <= MOST_SCALARS {
        return Ok(());
    }
    require_length(scalars::count(text), MOST_SCALARS, "scalars")
}

fn require_length(length: usize, most: usize, unit: &str) -> Result<()> {
    ensure(length <= most, || {
        Error::new(Code::TextTooLong, "text", format!("{} {}, at most {}", length, unit, most))
    })
}

fn pattern(node: &Node, sets: &[ScalarSet]) -> Result<Pattern> {
    Ok(match node {
        Node::Literal(text) => Pattern::Literal(text.clone()),
        Node::Set(set) => Pattern::Each(*set),
        other => Pattern::Expression(Program::new(other, sets, "pattern")?),
    })
}

/// Whether the last pre-tokenizer may leave bytes as they are, because each has its token.
fn take_plain_bytes(model: &mut Model, stages: &[PreTokenizer], special: &IdSet) -> bool {
    let byte_level = matches!(stages.last(), Some(PreTokenizer::ByteLevel { .. }));
    match model {
        Model::Bpe(bpe) if byte_level && bpe.prefix.is_empty() && bpe.suffix.is_empty() => {
            bpe.bytes = tok2::model::visible_tokens(bpe, special.ids());
            bpe.bytes.is_some()
        }
        _ => false,
    }
}

/// Of two tokens of one id the later one counts.
fn by_id(added: &[AddedToken]) -> Vec<(u32, usize)> {
    let mut rows: Vec<(u32, usize)> = added.iter().map(|token| token.id).zip(0..).collect();
    rows.sort_unstable_by_key(|&(id, at)| (id, std::cmp::Reverse(at)));
    rows.dedup_by_key(|row| row.0);
    rows
}

fn special_texts<'a>(added: &[AddedToken<'a>]) -> Vec<&'a [u8]> {
    let special = added.iter().filter(|token| token.special);
    let mut texts: Vec<&[u8]> = special.map(|token| token.content).collect();
    texts.sort_unstable();
    texts
}

/// Stretches of content lie apart, ascend, and begin and end between scalars.
fn require_content(text: &[u8], content: &[Offsets]) -> Result<()> {
    let mut before = 0;
    for (i, &[start, end]) in content.iter().enumerate() {
        let between = |at: u32| match text.get(at as usize) {
            Some(&byte) => !scalars::continues(byte),
            None => at as usize == text.len(),
        };
        let apart = if i == 0 { start >= before } else { start > before };
        ensure(apart && start < end && between(start) && between(end), || {
            let detail = format!("bytes {} to {} are no stretch of their own", start, end);
            Error::new(Code::Argument, format!("content {}", i), detail)
        })?;
        before = end;
    }
    Ok(())
}
