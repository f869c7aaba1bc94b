//! Ids back to bytes and text.

use super::decoder_texts::{from_bytes, is_stray, to_bytes};
use super::decoders::Manner;
use super::pattern::Scratch;
use super::scalars::{scalar_at, scalars};
use super::Tokenizer;
use crate::error::{Code, Error, Result};

/// What decoding shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Every token, nothing tidied.
    Raw,
    /// Special tokens left out, the decoder's clean-up done.
    Visible,
    /// Raw, with escapes for what has no shape.
    Diagnostic,
}

/// Exact bytes, and their text.
#[derive(Default)]
pub struct Decoded {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// UTF-8: what is none is U+FFFD as the source has it, or escaped.
    pub text: Vec<u8>,
}

impl Decoded {
    /// By number: 0 the bytes, 1 the text.
    pub fn part(&self, number: u32) -> Option<&[u8]> {
        [&self.bytes, &self.text].get(number as usize).map(|bytes| bytes.as_slice())
    }
}

impl Tokenizer<'_> {
    /// The bytes and the text of ids.
    pub fn decode(&self, ids: &[u32], mode: Mode) -> Result<Decoded> {
        let clean = mode == Mode::Visible;
        let mut texts = Vec::with_capacity(ids.len());
        for (index, &id) in ids.iter().enumerate() {
            texts.extend(self.shown_text(id, index, clean)?);
        }
        let bytes = to_bytes(&self.through(texts.clone(), Manner { lossy: false, clean })?);
        let text = match mode {
            Mode::Diagnostic => self.escaped(&bytes),
            _ => self.through(texts, Manner { lossy: true, clean })?,
        };
        Ok(Decoded { bytes, text })
    }

    /// What decoders get of an id; None where it is left out, which `clean` does with special tokens.
    pub(super) fn shown_text(&self, id: u32, index: usize, clean: bool) -> Result<Option<Vec<u8>>> {
        let text = self.token_text(id).ok_or_else(|| {
            let detail = format!("{} is no id of this tokenizer", id);
            Error::new(Code::TokenId, format!("index {}", index), detail)
        })?;
        if !(clean && self.is_special_text(&text)) {
            return Ok(Some(text));
        }
        Ok(self.keeps_places.then(Vec::new))
    }

    /// The token of an id; added tokens come before the model's.
    pub fn token_text(&self, id: u32) -> Option<Vec<u8>> {
        if let Ok(at) = self.added_by_id.binary_search_by_key(&id, |&(id, _)| id) {
            return Some(self.added_forms[self.added_by_id[at].1].to_vec());
        }
        let mut text = Vec::new();
        let known = id < self.real && self.vocabulary.text_of(id, &mut text);
        known.then_some(text)
    }

    fn is_special_text(&self, text: &[u8]) -> bool {
        self.special_texts.binary_search(&text).is_ok()
    }

    /// Through the decoders; without any the texts stand with spaces between.
    fn through(&self, mut texts: Vec<Vec<u8>>, manner: Manner) -> Result<Vec<u8>> {
        if self.decoders.is_empty() {
            return Ok(texts.join(&b' '));
        }
        let mut scratch = Scratch::default();
        for stage in &self.decoders {
            texts = stage.apply(texts, manner, &self.tools(), &mut scratch);
        }
        scratch.checked()?;
        Ok(texts.concat())
    }

    pub(super) fn escaped(&self, bytes: &[u8]) -> Vec<u8> {
        let text = from_bytes(bytes, false);
        let hidden = &self.sets[self.hidden_set];
        let mut out = Vec::with_capacity(text.len());
        for (at, code) in scalars(&text) {
            if is_stray(code) {
                out.extend_from_slice(format!("\\x{:02x}", code & 0xff).as_bytes());
            } else if code == u32::from(b'\\') {
                out.extend_from_slice(b"\\\\");
            } else if hidden.has(code) {
                out.extend_from_slice(format!("\\u{{{:x}}}", code).as_bytes());
            } else {
                out.extend_from_slice(&text[at..at + scalar_at(&text, at).1]);
            }
        }
        out
    }
}
