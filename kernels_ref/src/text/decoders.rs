//! Decoders: texts of tokens become the text, stage by stage.
//!
//! Bytes that are no UTF-8 stand as lone surrogates (U+DC80 to U+DCFF) between the stages, in three
//! bytes like other scalars, so that none is lost; with `lossy` they become U+FFFD where the source
//! puts it.

use super::byte_chars::byte_of;
use super::normalizers::Tools;
use super::pattern::{Pattern, Scratch};
use super::scalars::{length_of, push, scalar_at, scalars};

const CLEANED: [(&[u8], &[u8]); 11] = [
    (b" .", b"."),
    (b" ?", b"?"),
    (b" !", b"!"),
    (b" ,", b","),
    (b" ' ", b"'"),
    (b" n't", b"n't"),
    (b" 'm", b"'m"),
    (b" do not", b" don't"),
    (b" 's", b"'s"),
    (b" 've", b"'ve"),
    (b" 're", b"'re"),
];
const REPLACEMENT: u32 = 0xfffd;
const STRAY: u32 = 0xdc00;

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
        }
    }
}

/// Bytes as text: what is no UTF-8 as surrogates, or lost.
pub fn from_bytes(bytes: &[u8], lossy: bool) -> Vec<u8> {
    if lossy {
        return String::from_utf8_lossy(bytes).into_owned().into_bytes();
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Err(error) = std::str::from_utf8(rest) {
        let valid = error.valid_up_to();
        let stray = error.error_len().unwrap_or(rest.len() - valid);
        out.extend_from_slice(&rest[..valid]);
        rest[valid..valid + stray].iter().for_each(|&b| push(&mut out, STRAY + u32::from(b)));
        rest = &rest[valid + stray..];
    }
    out.extend_from_slice(rest);
    out
}

/// Whether a scalar stands for a byte that is no UTF-8.
pub fn is_stray(code: u32) -> bool {
    (STRAY + 0x80..STRAY + 0x100).contains(&code)
}

/// Text as bytes again.
pub fn to_bytes(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let (code, len) = scalar_at(text, at);
        if is_stray(code) {
            out.push((code - STRAY) as u8);
        } else {
            out.extend_from_slice(&text[at..at + len]);
        }
        at += len;
    }
    out
}

/// The bytes of visible texts; a text with any other character stands for its own UTF-8.
fn visible_joined(texts: &[Vec<u8>]) -> Vec<u8> {
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
                run(&mut waiting, lossy, &mut out);
                out.push(text);
            }
        }
    }
    run(&mut waiting, lossy, &mut out);
    out
}

fn named_byte(text: &[u8]) -> Option<u8> {
    let digits = text.strip_prefix(b"<0x")?.strip_suffix(b">")?;
    let digit = |at: usize| char::from(*digits.get(at)?).to_digit(16);
    let byte = digit(0)? << 4 | digit(1)?;
    (digits.len() == 2).then_some(byte as u8)
}

/// A run is one text if it is UTF-8; if not, each of its bytes is lost.
fn run(waiting: &mut Vec<u8>, lossy: bool, out: &mut Texts) {
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

fn cleaned(text: &[u8]) -> Vec<u8> {
    CLEANED.iter().fold(text.to_vec(), |text, (before, after)| replaced(&text, before, after))
}

/// Every `wanted` as `content`; an empty one is found before every scalar and at the end.
fn replaced(text: &[u8], wanted: &[u8], content: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        if wanted.is_empty() {
            out.extend_from_slice(content);
        } else if text[at..].starts_with(wanted) {
            out.extend_from_slice(content);
            at += wanted.len();
            continue;
        }
        let end = text.len().min(at + length_of(text[at]));
        out.extend_from_slice(&text[at..end]);
        at = end;
    }
    if wanted.is_empty() {
        out.extend_from_slice(content);
    }
    out
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
    let mut done = 0;
    while let Some((start, end)) = pattern.next(text, done, tools.sets, scratch) {
        out.extend_from_slice(&text[done..start]);
        out.extend_from_slice(content);
        done = end;
    }
    out.extend_from_slice(&text[done..]);
    out
}

fn strip(text: &mut Vec<u8>, code: u32, start: u32, stop: u32) {
    let mut wanted = Vec::new();
    push(&mut wanted, code);
    let size = wanted.len();
    let (mut from, mut to) = (0, text.len());
    for _ in 0..start {
        if !text[from..].starts_with(&wanted) {
            break;
        }
        from += size;
    }
    for _ in 0..stop {
        if to < from + size || !text[from..to].ends_with(&wanted) {
            break;
        }
        to -= size;
    }
    text.truncate(to);
    text.drain(..from);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stray_bytes_come_back() {
        let bytes = b"a\xff\xe2\x82b\xed\xa0\x80\xf0\x9f\x99";
        assert_eq!(to_bytes(&from_bytes(bytes, false)), bytes);
        assert_eq!(from_bytes(b"\xe2\x82x", true), "\u{fffd}x".as_bytes());
    }

    #[test]
    fn replacing_and_stripping() {
        assert_eq!(replaced(b"aaa", b"aa", b"b"), b"ba");
        assert_eq!(replaced("é".as_bytes(), b"", b"-"), "-é-".as_bytes());
        let mut text = b"lllxl".to_vec();
        strip(&mut text, 0x6c, 2, 2);
        assert_eq!(text, b"lx");
        assert_eq!(cleaned(b"do n't . 's"), b"don't.'s");
    }

    #[test]
    fn only_two_digits_name_a_byte() {
        let named: Vec<_> = ["<0x4f>", "<0xFF>", "<0x4>", "<0x+4>", "<0x411>", "0x41"]
            .iter()
            .map(|text| named_byte(text.as_bytes()))
            .collect();
        assert_eq!(named, [Some(0x4f), Some(0xff), None, None, None, None]);
    }
}
