//! The directory as a whole: names, aliases, the order of payloads, and what they hold.

use super::descriptor::{Descriptor, SIZE};
use super::{numbers as n, residual, Container};
use crate::bytes::{all_zero, reserve, Span, Walk};
use crate::error::{ensure, Code, Error, Result};
use crate::quant::Grouped;

/// Check all descriptors: each alone, then against the others, then the quantized planes.
pub fn check(container: &Container<'_>) -> Result<()> {
    let rows = container.header.directory.of(container.bytes, "directory")?;
    for (i, raw) in rows.chunks_exact(SIZE).enumerate() {
        let tensor = Descriptor::decode(raw);
        tensor.check(raw, &container.header).map_err(|error| at(i as u32, error))?;
        if tensor.layout == n::LAYOUT_RESIDUAL {
            residual::check(container, &tensor).map_err(|error| at(i as u32, error))?;
        }
    }
    check_payloads(container)?;
    check_names(container)?;
    for i in 0..container.len() {
        let tensor = container.descriptor(i)?;
        check_alias(container, &tensor).map_err(|error| at(i, error))?;
        if tensor.layout == n::LAYOUT_RESIDUAL {
            residual::check_base(container, &tensor).map_err(|error| at(i, error))?;
        }
        check_codes(container, &tensor)?;
    }
    Ok(())
}

fn at(i: u32, error: Error) -> Error {
    Error { place: format!("tensor {} {}", i, error.place), ..error }
}

/// Payloads stand in directory order, data then scales, and only zeros stand between them.
fn check_payloads(container: &Container<'_>) -> Result<()> {
    let body = container.header.body;
    let mut last = Span { start: body.start, len: 0 };
    let mut walk = Walk::after(container.bytes, last);
    let mut dense = false;
    for i in 0..container.len() {
        let tensor = container.descriptor(i)?;
        dense |= tensor.layout == n::LAYOUT_DENSE;
        for span in tensor.planes()? {
            if span.len > 0 {
                walk.step(span, &format!("tensor {}", i))?;
                last = span;
            }
        }
    }
    ensure(dense, || Error::new(Code::Tensor, "directory", "no dense tensor"))?;
    let tail = Span { start: last.end(), len: body.end() - last.end() };
    all_zero(tail.of(container.bytes, "body")?, "body", tail.start)
}

fn check_names(container: &Container<'_>) -> Result<()> {
    let mut names: Vec<u32> = Vec::new();
    reserve(&mut names, container.len() as usize)?;
    for i in 0..container.len() {
        let tensor = container.descriptor(i)?;
        container.name(&tensor)?;
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
    Ok(())
}

/// An alias repeats its dense target's facts; the flag `tied` marks a head over the embedding.
fn check_alias(container: &Container<'_>, tensor: &Descriptor) -> Result<()> {
    let mut tied = false;
    if tensor.layout == n::LAYOUT_ALIAS {
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
        tied = tensor.role == n::ROLE_LM_HEAD && target.role == n::ROLE_EMBEDDING;
    }
    ensure((tensor.flags & n::FLAG_TIED != 0) == tied, || {
        Error::new(Code::Alias, "flags", "tied marks exactly a head that aliases the embedding")
    })
}

fn check_codes(container: &Container<'_>, tensor: &Descriptor) -> Result<()> {
    let name = container.name(tensor)?;
    if tensor.layout == n::LAYOUT_RESIDUAL {
        return container.sparse(tensor)?.check(name);
    }
    match container.codes(tensor)? {
        Some(codes) => codes.check(name),
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
