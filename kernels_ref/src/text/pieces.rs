//! Decoding of tokens by their kind, as llama.cpp does.

use super::byte_chars::byte_of;
use super::decoder_texts::{named_byte, to_bytes};
use super::normalizers::Tools;
use super::scalars::{length_of, scalars};

/// How a token is decoded: as text, as it is, as the byte that it names, as nothing.
pub const TEXT: u8 = 0;
/// As it is.
pub const PLAIN: u8 = 1;
/// As the byte that it names.
pub const BYTE: u8 = 2;
/// Number of kinds; the last one is decoded as nothing.
pub const KINDS: u8 = 4;

const SPACE: &str = "\u{2581}";

/// Append the bytes of one token; `visible` characters stand for bytes, else U+2581 for the space.
pub fn piece_bytes(text: &[u8], visible: bool, tools: &Tools, out: &mut Vec<u8>) {
    match kind_of(text, tools) {
        TEXT if visible => visible_bytes(text, out),
        TEXT => {
            let mut rest = text;
            while !rest.is_empty() {
                if let Some(behind) = rest.strip_prefix(SPACE.as_bytes()) {
                    out.push(b' ');
                    rest = behind;
                } else {
                    let (one, behind) = rest.split_at(length_of(rest[0]).min(rest.len()));
                    out.extend(to_bytes(one));
                    rest = behind;
                }
            }
        }
        PLAIN => out.extend(to_bytes(text)),
        BYTE => out.extend(named_byte(text)),
        _ => {}
    }
}

/// The kind of the token that a text is.
fn kind_of(text: &[u8], tools: &Tools) -> u8 {
    let id = tools.vocabulary.find(text);
    id.and_then(|id| tools.kinds.get(id as usize)).copied().unwrap_or(TEXT)
}

fn visible_bytes(text: &[u8], out: &mut Vec<u8>) {
    for (at, code) in scalars(text) {
        match byte_of(code) {
            Some(byte) => out.push(byte),
            None => {
                let end = text.len().min(at + length_of(text[at]));
                out.extend_from_slice(b"[UNK_BYTE_0x");
                let hex = |byte: u8| format!("{:02x}", byte).into_bytes();
                out.extend(to_bytes(&text[at..end]).into_iter().flat_map(hex));
                out.extend(to_bytes(text));
                out.push(b']');
            }
        }
    }
}
