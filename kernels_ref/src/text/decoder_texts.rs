//! Texts between decoders: what is no UTF-8 in them, and what is replaced or stripped.

use super::scalars::{length_of, push, scalar_at};

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
const TIDIED: [(&[u8], &[u8]); 9] = [
    (b" ?", b"?"),
    (b" !", b"!"),
    (b" .", b"."),
    (b" ,", b","),
    (b" ' ", b"'"),
    (b" 's", b"'s"),
    (b" 'm", b"'m"),
    (b" 're", b"'re"),
    (b" 've", b"'ve"),
];
const STRAY: u32 = 0xdc00;

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

/// Tidied up: spaces before marks and contractions are lost.
pub fn cleaned(text: &[u8]) -> Vec<u8> {
    CLEANED.iter().fold(text.to_vec(), |text, (before, after)| replaced(&text, before, after))
}

/// The same as llama.cpp does it.
pub fn tidied(text: &[u8]) -> Vec<u8> {
    TIDIED.iter().fold(text.to_vec(), |text, (before, after)| replaced(&text, before, after))
}

/// The byte that a token `<0xHH>` names.
pub fn named_byte(text: &[u8]) -> Option<u8> {
    let digits = text.strip_prefix(b"<0x")?.strip_suffix(b">")?;
    let digit = |at: usize| char::from(*digits.get(at)?).to_digit(16);
    let byte = digit(0)? << 4 | digit(1)?;
    (digits.len() == 2).then_some(byte as u8)
}

/// Every `wanted` as `content`; an empty one is found before every scalar and at the end.
pub fn replaced(text: &[u8], wanted: &[u8], content: &[u8]) -> Vec<u8> {
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

/// At most so many of one scalar off both ends.
pub fn strip(text: &mut Vec<u8>, code: u32, start: u32, stop: u32) {
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
