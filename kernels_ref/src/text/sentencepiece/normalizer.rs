//! The normalizer of SentencePiece: rules, symbols kept as they are, white space, the dummy prefix.
//!
//! Source of facts: normalizer.cc of sentencepiece 0.2.3.

use super::symbols::Symbols;
use crate::text::charsmap::Charsmap;
use crate::text::scalars::length_of;
use crate::text::vocabulary::Vocabulary;

/// What stands for a space in pieces.
pub const SPACE: &[u8] = "\u{2581}".as_bytes();

/// The switches of a normalizer.
#[derive(Clone, Copy)]
pub struct Switches {
    /// A space is put before the text.
    pub dummy_prefix: bool,
    /// Spaces at the ends go, others stand alone.
    pub remove_spaces: bool,
    /// Spaces are written as U+2581.
    pub escape: bool,
    /// The dummy space stands at the end.
    pub suffix: bool,
}

impl Switches {
    /// By the bits of a stage.
    pub fn new(bits: u16) -> Switches {
        let [dummy_prefix, remove_spaces, escape, suffix] = [1, 2, 4, 8].map(|bit| bits & bit != 0);
        Switches { dummy_prefix, remove_spaces, escape, suffix }
    }
}

/// A normalizer; one without symbols is a denormalizer.
pub struct Normalizer<'a> {
    /// What it does.
    pub switches: Switches,
    /// The table of characters.
    pub rules: Option<Charsmap<'a>>,
    /// User-defined symbols, which are never changed.
    pub symbols: Option<Symbols<'a>>,
}

/// A normalized text.
#[derive(Default)]
pub struct Normalized {
    /// UTF-8.
    pub text: Vec<u8>,
    /// Where in the given text each byte came from; the last one is where the rest begins. Empty
    /// where nothing is left.
    pub origins: Vec<u32>,
}

impl Normalized {
    fn put(&mut self, bytes: &[u8], origin: usize) {
        self.text.extend_from_slice(bytes);
        self.origins.resize(self.text.len(), origin as u32);
    }
}

impl Normalizer<'_> {
    /// The normalized text.
    pub fn apply(&self, text: &[u8], vocabulary: &Vocabulary) -> Normalized {
        let Switches { dummy_prefix, remove_spaces, suffix, .. } = self.switches;
        let start = if remove_spaces { self.behind_spaces(text, vocabulary) } else { 0 };
        let mut out = Normalized::default();
        if start == text.len() {
            return out;
        }
        let space = if self.switches.escape { SPACE } else { b" " };
        out.text.reserve(text.len() + text.len() / 4);
        out.origins.reserve(text.len() + text.len() / 4);
        if dummy_prefix && !suffix {
            out.put(space, start);
        }
        self.write(text, start, space, vocabulary, &mut out);
        let mut end = text.len();
        while remove_spaces && out.text.ends_with(space) {
            let length = out.text.len() - space.len();
            end = out.origins[length] as usize;
            out.text.truncate(length);
            out.origins.truncate(length);
        }
        if dummy_prefix && suffix {
            out.put(space, end);
        }
        out.origins.push(end as u32);
        out
    }

    fn write(
        &self,
        text: &[u8],
        mut at: usize,
        space: &[u8],
        vocabulary: &Vocabulary,
        out: &mut Normalized,
    ) {
        let mut after_space = self.switches.remove_spaces;
        while at < text.len() {
            let (length, mut instead) = self.prefix(text, at, vocabulary);
            while let (true, [b' ', rest @ ..]) = (after_space, instead) {
                instead = rest;
            }
            for (i, part) in instead.split(|&byte| byte == b' ').enumerate() {
                if i > 0 {
                    out.put(space, at);
                }
                out.put(part, at);
            }
            if let Some(&last) = instead.last() {
                after_space = self.switches.remove_spaces && last == b' ';
            }
            at += length;
        }
    }

    fn behind_spaces(&self, text: &[u8], vocabulary: &Vocabulary) -> usize {
        let mut at = 0;
        while at < text.len() {
            match self.prefix(text, at, vocabulary) {
                (length, b" ") => at += length,
                _ => break,
            }
        }
        at
    }

    /// How many bytes are taken at a place, and what stands in their place.
    #[inline]
    fn prefix<'t>(
        &'t self,
        text: &'t [u8],
        at: usize,
        vocabulary: &Vocabulary,
    ) -> (usize, &'t [u8]) {
        let symbol = self.symbols.as_ref().map_or(0, |all| all.length(vocabulary, text, at));
        if symbol > 0 {
            return (symbol, &text[at..at + symbol]);
        }
        if let Some(found) = self.rules.and_then(|rules| rules.longest(&text[at..])) {
            return found;
        }
        let length = length_of(text[at]);
        (length, &text[at..text.len().min(at + length)])
    }
}
