//! Opening a block: what its rows say becomes what stages run on.

use super::added::{AddedToken, Matcher};
use super::aligned::{Changed, View};
use super::models::borders::Borders;
use super::models::{IdSet, Model};
use super::pattern::node::Node;
use super::pattern::{Pattern, Program, Scratch};
use super::post::Trimming;
use super::pre_tokenizers::PreTokenizer;
use super::sets::ScalarSet;
use super::vocabulary::NONE;
use super::{tok2, Names, Tokenizer};
use crate::error::{Code, Error, Result};
use std::borrow::Cow;
use std::collections::HashSet;

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
        tokenizer.added_forms = tokenizer.forms()?;
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

    fn forms(&self) -> Result<Vec<Cow<'a, [u8]>>> {
        let form = |token: &AddedToken<'a>| match token.normalized {
            true => self.normalize(token.content).map(Cow::Owned),
            false => Ok(Cow::Borrowed(token.content)),
        };
        self.added.iter().map(form).collect()
    }

    fn normalize(&self, text: &[u8]) -> Result<Vec<u8>> {
        let mut scratch = Scratch::default();
        let mut made: Option<Changed> = None;
        for stage in &self.normalizers {
            let now = made.as_ref().map_or(View::whole(text), Changed::view);
            if let Some(changed) = stage.apply(now, &self.tools(), &mut scratch) {
                made = Some(changed);
            }
        }
        scratch.checked()?;
        Ok(made.map_or(text.to_vec(), |changed| changed.text))
    }
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
