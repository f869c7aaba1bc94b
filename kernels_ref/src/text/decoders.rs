//! Decoders: texts of tokens become the text, stage by stage.
//!
//! Bytes that are no UTF-8 stand as lone surrogates (U+DC80 to U+DCFF) between the stages, in three
//! bytes like other scalars, so that none is lost; with `lossy` they become U+FFFD where the source
//! puts it.

use super::byte_chars::byte_of;
use super::decoder_texts::{cleaned, from_bytes, named_byte, replaced, strip, tidied, to_bytes};
use super::normalizers::Tools;
use super::pattern::{Budget, Pattern, Scratch};
use super::pieces::piece_bytes;
use super::scalars::{push, scalars};
use super::sentencepiece::decoding::PieceDecoder;

const REPLACEMENT: u32 = 0xfffd;

/// One stage.
pub enum Decoder<'a> {
    /// Visible characters back to bytes.
    ByteLevel,
    /// Runs of tokens <0xHH> as the bytes that they name.
    ByteFallback,
    /// Words with spaces between; the flag is clean-up.
    WordPiece(&'a [u8], bool),
    /// The character back to a space; the flag keeps it in the first token.
    Metaspace(Vec<u8>, bool),
    /// The suffix that ends a word becomes a space, at the end nothing.
    Bpe(&'a [u8]),
    /// Repeated tokens once, padding out, the delimiter as a space; the flag is clean-up.
    Ctc(&'a [u8], &'a [u8], bool),
    /// A text in place of every match of the pattern with this number.
    Replace(usize, &'a [u8]),
    /// All texts as one.
    Fuse,
    /// At most so many of one character off the ends of every text.
    Strip(u32, u32, u32),
    /// Bytes of each token by its kind.
    Pieces {
        /// Visible characters stand for bytes.
        visible: bool,
        /// One space goes from the first token.
        strip_first: bool,
    },
    /// Spaces before marks and endings are lost where there is clean-up.
    Tidied,
    /// Pieces of SentencePiece.
    Sentence(PieceDecoder<'a>),
}

/// How texts are decoded.
#[derive(Clone, Copy)]
pub struct Manner {
    /// Bytes that are no UTF-8 become U+FFFD.
    pub lossy: bool,
    /// Clean-up is done.
    pub clean: bool,
}

type Texts = Vec<Vec<u8>>;

impl Decoder<'_> {
    /// The texts after this stage.
    pub fn apply(
        &self,
        mut texts: Texts,
        manner: Manner,
        tools: &Tools,
        scratch: &mut Scratch,
    ) -> Texts {
        match self {
            Decoder::ByteLevel => vec![from_bytes(&visible_joined(&texts), manner.lossy)],
            Decoder::ByteFallback => fallen_back(texts, manner.lossy),
            Decoder::WordPiece(prefix, cleanup) => {
                words(&mut texts, prefix, *cleanup && manner.clean);
                texts
            }
            Decoder::Metaspace(character, keeps) => {
                for (i, text) in texts.iter_mut().enumerate() {
                    let space: &[u8] = if i > 0 || *keeps { b" " } else { b"" };
                    *text = replaced(text, character, space);
                }
                texts
            }
            Decoder::Bpe(suffix) => {
                let last = texts.len().saturating_sub(1);
                for (i, text) in texts.iter_mut().enumerate() {
                    *text = replaced(text, suffix, if i == last { b"" } else { b" " });
                }
                texts
            }
            Decoder::Ctc(pad, delimiter, cleanup) => {
                ctc(texts, pad, cleanup.then(|| *delimiter), manner.clean)
            }
            Decoder::Replace(pattern, content) => {
                let pattern = &tools.patterns[*pattern];
                for text in &mut texts {
                    *text = matches_replaced(text, pattern, content, tools, scratch);
                }
                texts
            }
            Decoder::Fuse => vec![texts.concat()],
            Decoder::Strip(code, start, stop) => {
                texts.iter_mut().for_each(|text| strip(text, *code, *start, *stop));
                texts
            }
            Decoder::Pieces { visible, strip_first } => {
                let mut out = Vec::new();
                for (i, text) in texts.iter().enumerate() {
                    piece_bytes(text, *visible, tools, &mut out);
                    if i == 0 && *strip_first && out.first() == Some(&b' ') {
                        out.remove(0);
                    }
                }
                vec![from_bytes(&out, manner.lossy)]
            }
            Decoder::Tidied => {
                if manner.clean {
                    texts.iter_mut().for_each(|text| *text = tidied(text));
                }
                texts
            }
            Decoder::Sentence(decoder) => vec![decoder.apply(&texts, manner, tools)],
        }
    }
}

/// The bytes of visible texts; a text with any other character stands for its own UTF-8.
pub fn visible_joined(texts: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for text in texts {
        let length = out.len();
        for (_, code) in scalars(text) {
            match byte_of(code) {
                Some(byte) => out.push(byte),
                None => {
                    out.truncate(length);
                    out.extend_from_slice(&to_bytes(text));
                    break;
                }
            }
        }
    }
    out
}

fn fallen_back(texts: Texts, lossy: bool) -> Texts {
    let mut out = Vec::with_capacity(texts.len());
    let mut waiting = Vec::new();
    for text in texts {
        match named_byte(&text) {
            Some(byte) => waiting.push(byte),
            None => {
                byte_run(&mut waiting, lossy, &mut out);
                out.push(text);
            }
        }
    }
    byte_run(&mut waiting, lossy, &mut out);
    out
}

/// A run is one text if it is UTF-8; if not, each of its bytes is lost.
pub fn byte_run(waiting: &mut Vec<u8>, lossy: bool, out: &mut Texts) {
    if waiting.is_empty() {
        return;
    }
    if lossy && std::str::from_utf8(waiting).is_err() {
        let mut lost = Vec::new();
        push(&mut lost, REPLACEMENT);
        out.extend(std::iter::repeat(lost).take(waiting.len()));
    } else {
        out.push(from_bytes(waiting, false));
    }
    waiting.clear();
}

fn words(texts: &mut Texts, prefix: &[u8], clean: bool) {
    for (i, text) in texts.iter_mut().enumerate() {
        if i > 0 {
            if text.starts_with(prefix) {
                text.drain(..prefix.len());
            } else {
                text.insert(0, b' ');
            }
        }
        if clean {
            *text = cleaned(text);
        }
    }
}

fn ctc(texts: Texts, pad: &[u8], delimiter: Option<&[u8]>, clean: bool) -> Texts {
    let mut out = Vec::with_capacity(texts.len());
    for (i, text) in texts.iter().enumerate() {
        if i > 0 && *text == texts[i - 1] {
            continue;
        }
        let mut row = replaced(text, pad, b"");
        if let Some(delimiter) = delimiter {
            // The delimiter is part of the alphabet; only the rest is tidying up.
            row = replaced(&if clean { cleaned(&row) } else { row }, delimiter, b" ");
        }
        if !row.is_empty() {
            out.push(row);
        }
    }
    out
}

fn matches_replaced(
    text: &[u8],
    pattern: &Pattern,
    content: &[u8],
    tools: &Tools,
    scratch: &mut Scratch,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let (mut done, mut budget) = (0, Budget::of(text));
    while let Some((start, end)) = pattern.next(text, done, tools.sets, &mut budget, scratch) {
        out.extend_from_slice(&text[done..start]);
        out.extend_from_slice(content);
        done = end;
    }
    out.extend_from_slice(&text[done..]);
    out
}
