//! The directory as a whole: names, aliases, the order of payloads, and what they hold.

use super::descriptor::{Descriptor, SIZE};
use super::{numbers as n, residual, Container};
use crate::bytes::{all_zero, reserve, u16_at, Span};
use crate::error::{ensure, Code, Error, Result};
use crate::quant::Grouped;

/// Check all descriptors: each alone, then against the others.
pub fn check(container: &Container<'_>) -> Result<()> {
    let rows = container.header.directory.of(container.bytes, "directory")?;
    for (i, raw) in rows.chunks_exact(SIZE).enumerate() {
        let tensor = Descriptor::decode(raw);
        tensor.check(raw, &container.header).map_err(|error| at(i as u32, error))?;
        if tensor.layout == n::LAYOUT_RESIDUAL {
            residual::check(container, &tensor).map_err(|error| at(i as u32, error))?;
        }
    }
    check_names(container)?;
    check_payloads(container)?;
    for i in 0..container.len() {
        let tensor = container.descriptor(i)?;
        check_relations(container, &tensor).map_err(|error| at(i, error))?;
    }
    Ok(())
}

/// Check what the stored planes hold.
pub fn check_content(container: &Container<'_>) -> Result<()> {
    for i in 0..container.len() {
        let tensor = container.descriptor(i)?;
        check_planes(container, &tensor)?;
    }
    Ok(())
}

fn at(i: u32, error: Error) -> Error {
    Error { place: format!("tensor {} {}", i, error.place), ..error }
}

/// Payloads stand in directory order, data then scales, and only zeros stand between them.
fn check_payloads(container: &Container<'_>) -> Result<()> {
    let mut end = container.header.body.start;
    each_payload(container, |i, span| {
        ensure(span.start >= end, || {
            let detail = format!("starts at {}, the one before ends at {}", span.start, end);
            Error::new(Code::Overlap, format!("tensor {}", i), detail)
        })?;
        end = span.end();
        Ok(())
    })?;
    let mut from = container.header.body.start;
    each_payload(container, |i, span| {
        let gap = Span { start: from, len: span.start - from };
        from = span.end();
        all_zero(gap.of(container.bytes, "body")?, &format!("before tensor {}", i), gap.start)
    })?;
    let tail = Span { start: from, len: container.header.body.end() - from };
    all_zero(tail.of(container.bytes, "body")?, "body", tail.start)
}

fn each_payload(
    container: &Container<'_>,
    mut each: impl FnMut(u32, Span) -> Result<()>,
) -> Result<()> {
    for i in 0..container.len() {
        for span in container.descriptor(i)?.planes()? {
            if span.len > 0 {
                each(i, span)?;
            }
        }
    }
    Ok(())
}

fn check_names(container: &Container<'_>) -> Result<()> {
    let mut names: Vec<u32> = Vec::new();
    reserve(&mut names, container.len() as usize)?;
    let mut dense = false;
    for i in 0..container.len() {
        let tensor = container.descriptor(i)?;
        container.name(&tensor)?;
        dense |= tensor.layout == n::LAYOUT_DENSE;
        names.push(tensor.name_id);
    }
    names.sort_unstable();
    for pair in names.windows(2) {
        ensure(pair[0] != pair[1], || {
            Error::new(
                Code::Duplicate,
                "directory",
                format!("two tensors have the name {}", pair[0]),
            )
        })?;
    }
    ensure(dense, || Error::new(Code::Duplicate, "directory", "no dense tensor"))
}

/// An alias and its target, a residual and its base, and which tensor is tied.
fn check_relations(container: &Container<'_>, tensor: &Descriptor) -> Result<()> {
    let mut tied = false;
    match tensor.layout {
        n::LAYOUT_ALIAS => {
            let target = check_alias(container, tensor)?;
            tied = tensor.role == n::ROLE_LM_HEAD && target.role == n::ROLE_EMBEDDING;
        }
        n::LAYOUT_RESIDUAL => residual::check_base(container, tensor)?,
        _ => (),
    }
    ensure((tensor.flags & n::FLAG_TIED != 0) == tied, || {
        Error::new(Code::Flags, "flags", "tied marks exactly a head that aliases the embedding")
    })
}

/// An alias repeats its dense target's facts.
fn check_alias(container: &Container<'_>, tensor: &Descriptor) -> Result<Descriptor> {
    let wrong = |detail: String| Error::new(Code::Alias, "alias_of", detail);
    ensure(tensor.alias_of < container.len(), || {
        wrong(format!("{} of {} tensors", tensor.alias_of, container.len()))
    })?;
    let target = container.descriptor(tensor.alias_of)?;
    ensure(target.layout == n::LAYOUT_DENSE, || wrong("the target is no dense tensor".into()))?;
    let facts = |d: &Descriptor| (d.dtype, d.rank, d.dims, d.logical_nbytes, d.sha256);
    ensure(facts(tensor) == facts(&target), || {
        wrong("dtype, dimensions, size or hash differ from the target's".into())
    })?;
    Ok(target)
}

fn check_planes(container: &Container<'_>, tensor: &Descriptor) -> Result<()> {
    let name = container.name(tensor)?;
    if tensor.layout == n::LAYOUT_RESIDUAL {
        return container.sparse(tensor)?.check(name);
    }
    if let Some(codes) = container.codes(tensor)? {
        return codes.check(name);
    }
    let [data, _] = tensor.planes()?;
    let bytes = data.of(container.bytes, name)?;
    // The exponent of a NaN or an infinity is all ones.
    let bad = match tensor.dtype {
        n::DTYPE_F32 => bytes.chunks_exact(4).position(|b| u16_at(b, 2) & 0x7f80 == 0x7f80),
        n::DTYPE_F16 => bytes.chunks_exact(2).position(|b| u16_at(b, 0) & 0x7c00 == 0x7c00),
        _ => bytes.chunks_exact(2).position(|b| u16_at(b, 0) & 0x7f80 == 0x7f80),
    };
    match bad {
        Some(at) => Err(Error::new(Code::NonFinite, name, format!("element {}", at))),
        None => Ok(()),
    }
}

impl<'a> Container<'a> {
    /// The planes of a dense grouped tensor, without its residual; None for any other.
    pub fn codes(&self, tensor: &Descriptor) -> Result<Option<Grouped<'a>>> {
        let (form, encoding) = match tensor.grouped() {
            Some(found) if tensor.layout == n::LAYOUT_DENSE => found,
            _ => return Ok(None),
        };
        let [codes, scales] = tensor.planes()?;
        Ok(Some(Grouped {
            form,
            encoding,
            codes: codes.of(self.bytes, "codes")?,
            scales: scales.of(self.bytes, "scales")?,
            cols: tensor.shape().last().map_or(0, |&cols| cols as usize),
            residual: None,
        }))
    }
}
