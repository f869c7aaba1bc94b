//! Strict reader of BTOK: 256 bytes and four special ids.

use super::{specials, Source};
use crate::error::{Code, Result};
use crate::text::tok2::section::Section;

const LENGTH: u64 = 28;
const VOCAB: u32 = 260;

/// Every byte, a token each.
static BYTES: [u8; 256] = bytes();

const fn bytes() -> [u8; 256] {
    let mut bytes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        bytes[byte] = byte as u8;
        byte += 1;
    }
    bytes
}

/// The tokenizer of a section that begins with the magic.
pub(super) fn read(bytes: &[u8]) -> Result<Source<'static>> {
    let section = Section { bytes, offset: 0, code: Code::Btok };
    section.exactly(LENGTH, 0)?;
    section.ensure(section.u32(4) == 1, 4, "another version than 1")?;
    section.ensure(section.u32(8) == VOCAB, 8, "another vocabulary than 260")?;
    let specials = specials(&section, 256, VOCAB)?;
    Ok(Source { specials, tokens: (0..).zip(BYTES.chunks(1)).collect(), merges: Vec::new() })
}
