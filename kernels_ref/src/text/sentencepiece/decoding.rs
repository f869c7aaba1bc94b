//! Pieces of a SentencePiece model back to text.
//!
//! Source of facts: Decode in sentencepiece_processor.cc of sentencepiece 0.2.3.

use super::kinds::{BYTE, CONTROL, UNKNOWN};
use super::normalizer::{Normalizer, Switches, SPACE};
use crate::text::decoder_texts::{from_bytes, is_stray, named_byte, replaced, to_bytes};
use crate::text::decoders::Manner;
use crate::text::normalizers::Tools;
use crate::text::scalars::{length_of, push, scalars};

const REPLACEMENT: u32 = 0xfffd;

/// How pieces are decoded.
pub struct PieceDecoder<'a> {
    /// What the unknown piece is shown as in visible decoding.
    pub unknown: &'a [u8],
    /// The switches of the normalizer: the space that it put at the beginning goes again.
    pub switches: Switches,
    /// What the whole text goes through.
    pub denormalizer: Option<Normalizer<'a>>,
}

/// The state between two pieces.
#[derive(Clone, Default)]
pub struct Run {
    /// The last part is of byte pieces, more of which may follow.
    pub in_bytes: bool,
    written: bool,
    behind_start: bool,
    space_taken: bool,
}

impl PieceDecoder<'_> {
    /// One text of all pieces.
    pub fn apply(&self, texts: &[Vec<u8>], manner: Manner, tools: &Tools) -> Vec<u8> {
        let mut run = Run::default();
        let mut parts: Vec<Vec<u8>> = Vec::new();
        for text in texts {
            let before = run.in_bytes;
            let bytes = self.take(&mut run, text, manner.clean, tools);
            match parts.last_mut() {
                Some(last) if before && run.in_bytes => last.extend(bytes),
                _ => parts.push(bytes),
            }
        }
        if !manner.lossy && self.denormalizer.is_none() {
            return from_bytes(&parts.concat(), false);
        }
        let shown: Vec<u8> = parts.iter().flat_map(|part| shown(part)).collect();
        match &self.denormalizer {
            Some(denormalizer) => denormalizer.apply(&shown, tools.vocabulary).text,
            None => shown,
        }
    }

    /// The bytes of one piece.
    pub fn take(&self, run: &mut Run, text: &[u8], clean: bool, tools: &Tools) -> Vec<u8> {
        let kind = tools.vocabulary.find(text).and_then(|id| tools.kinds.get(id as usize));
        let kind = kind.copied();
        if kind == Some(BYTE) {
            run.in_bytes = true;
            run.written = true;
            return named_byte(text).into_iter().collect();
        }
        run.in_bytes = false;
        run.behind_start |= run.space_taken || run.written;
        run.space_taken = false;
        if kind == Some(CONTROL) {
            // Shown or not, it is nothing to the space at the beginning.
            return if clean { Vec::new() } else { text.to_vec() };
        }
        let bytes = match kind {
            Some(UNKNOWN) if clean => self.unknown.to_vec(),
            Some(UNKNOWN) => text.to_vec(),
            _ => self.spaced(run, text),
        };
        run.written |= !bytes.is_empty();
        to_bytes(&bytes)
    }

    /// The piece with spaces, and without the one that the normalizer put there.
    fn spaced(&self, run: &mut Run, text: &[u8]) -> Vec<u8> {
        let Switches { dummy_prefix, remove_spaces, .. } = self.switches;
        let mut text = text;
        if !run.behind_start && (dummy_prefix || remove_spaces) {
            if let Some(rest) = text.strip_prefix(SPACE) {
                text = rest;
                // Where all spaces at the beginning go, the next piece is at the beginning too.
                run.space_taken = !remove_spaces;
            }
        }
        replaced(text, SPACE, b" ")
    }
}

/// Bytes as text, each that is no UTF-8 replaced.
pub fn shown(bytes: &[u8]) -> Vec<u8> {
    let text = from_bytes(bytes, false);
    let mut out = Vec::with_capacity(text.len());
    for (at, code) in scalars(&text) {
        match is_stray(code) {
            true => push(&mut out, REPLACEMENT),
            false => out.extend_from_slice(&text[at..text.len().min(at + length_of(text[at]))]),
        }
    }
    out
}
