//! Payloads against each other: disjoint in any order, zeros between them, and a short end.

use super::entry::Entry;
use super::File;
use crate::bytes::{all_zero, reserve, Span, Walk};
use crate::error::{ensure, Code, Error, Result};

/// Check all payloads, and a stored head beside the tied flag.
pub fn check(file: &File<'_>) -> Result<()> {
    let mut spans: Vec<Span> = Vec::new();
    reserve(&mut spans, 2 * file.tensors.len())?;
    for entry in file.tensors.iter().flatten() {
        spans.push(entry.data);
        if entry.scales.len > 0 {
            spans.push(entry.scales);
        }
    }
    spans.sort_unstable_by_key(|span| (span.start, span.len));
    let mut last = Span { start: file.header.data, len: 0 };
    let mut walk = Walk::after(file.bytes, last);
    for &span in &spans {
        ensure(span.start >= last.end(), || {
            let detail = format!("starts at {}, one ends at {}", span.start, last.end());
            Error::new(Code::Overlap, "payload", detail)
        })?;
        walk.step(span, "payload")?;
        last = span;
    }
    let tail = Span { start: last.end(), len: file.bytes.len() as u64 - last.end() };
    ensure(tail.len < 64, || {
        Error::new(Code::Tensor, "file", format!("{} bytes behind the last payload", tail.len))
    })?;
    all_zero(tail.of(file.bytes, "file")?, "file", tail.start)?;
    match (file.header.tied, file.tensors.first(), file.tensors.last()) {
        (true, Some(Some(embedding)), Some(Some(head))) => check_head(file, embedding, head),
        _ => Ok(()),
    }
}

fn check_head(file: &File<'_>, embedding: &Entry, head: &Entry) -> Result<()> {
    let mut same = (head.dtype, head.block) == (embedding.dtype, embedding.block);
    for (one, other) in [(head.data, embedding.data), (head.scales, embedding.scales)] {
        same = same && one.of(file.bytes, "head")? == other.of(file.bytes, "embedding")?;
    }
    ensure(same, || {
        Error::new(Code::Alias, "output.weight", "beside the tied flag, other than the embedding")
    })
}
