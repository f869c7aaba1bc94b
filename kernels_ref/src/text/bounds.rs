//! What a text and its stretches of content have to be.

use super::scalars;
use super::state::Offsets;
use crate::error::{ensure, Code, Error, Result};

/// Bytes of one text at most, and scalars.
const MOST_BYTES: usize = 64 << 20;
/// Both bounds hold.
const MOST_SCALARS: usize = 16 << 20;

/// UTF-8 within both bounds.
pub fn require_text(text: &[u8]) -> Result<()> {
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

/// Stretches of content lie apart, ascend, and begin and end between scalars.
pub fn require_content(text: &[u8], content: &[Offsets]) -> Result<()> {
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
