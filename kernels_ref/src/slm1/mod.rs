//! A strict reader of SLM1 files, from docs/formats/slm1.md; it shares no code with the packer.

pub mod checksum;
mod config;
mod entry;
mod frequencies;
mod header;
mod model;
mod names;
mod payloads;

use crate::bytes::{all_zero, reserve, u32_at, Span, Walk};
use crate::error::{ensure, Code, Error, Result};
use crate::text::slm1::vocabulary;
use entry::Entry;
use header::Header;
pub use model::open;
use names::Names;

/// What a file begins with.
pub const MAGIC: &[u8] = b"SLM1";

/// A checked file over its bytes.
pub struct File<'a> {
    /// The whole file.
    pub bytes: &'a [u8],
    header: Header,
    /// By the order of `Names`; None is a tied head that is not stored.
    tensors: Vec<Option<Entry>>,
}

impl<'a> File<'a> {
    /// Check every rule: structure, then the checksum, then stored values.
    pub fn parse(bytes: &'a [u8]) -> Result<File<'a>> {
        let header = Header::parse(bytes)?;
        let rows = check_sections(bytes, &header)?;
        let tensors = directory(bytes, &header, rows)?;
        let file = File { bytes, header, tensors };
        payloads::check(&file)?;
        checksum::verify(bytes)?;
        file.check_values()?;
        Ok(file)
    }

    fn check_values(&self) -> Result<()> {
        for entry in self.tensors.iter().flatten() {
            let place = || format!("tensor {:016x}", entry.name);
            entry.stored(self.bytes)?.check().map_err(|error| Error {
                place: format!("{} {}", place(), error.place),
                ..error
            })?;
        }
        Ok(())
    }
}

/// Header, tokenizer, directory and data ascend, with zeros between; the tokenizer is sound. Gives
/// the directory's range.
fn check_sections(bytes: &[u8], header: &Header) -> Result<Span> {
    let extension = Span { start: header::SIZE as u64, len: header.length - header::SIZE as u64 };
    let raw = extension.of(bytes, "header_length")?;
    all_zero(raw, "header", extension.start)?;
    let mut walk = Walk::after(bytes, Span { start: 0, len: header.length });
    let mut section = |name: &str, (start, len): (u64, u64), alignment: u64| {
        let span = Span::new(name, start, len)?;
        // Of sections every wrong place is one out of range.
        walk.reaches(span, name).map_err(|error| Error { code: Code::Range, ..error })?;
        span.aligned(name, alignment)?;
        walk.step(span, name)?;
        Ok(span)
    };
    let tokenizer = section("tokenizer", header.tokenizer, 1)?;
    let directory = section("directory", header.directory, 64)?;
    section("data", (header.data, 0), 64)?;
    let vocab = vocabulary(tokenizer.of(bytes, "tokenizer")?)?;
    ensure(vocab == header.vocab, || {
        let detail = format!("{} in the header, {} in the tokenizer", header.vocab, vocab);
        Error::new(Code::ConfigDisagrees, "header.vocab", detail)
    })?;
    Ok(directory)
}

/// Every entry at the place of its name.
fn directory(bytes: &[u8], header: &Header, rows: Span) -> Result<Vec<Option<Entry>>> {
    let names = Names::of(header)?;
    let mut found: Vec<Option<Entry>> = Vec::new();
    reserve(&mut found, names.len())?;
    found.resize(names.len(), None);
    let rows = rows.of(bytes, "directory")?;
    for (i, raw) in rows.chunks_exact(entry::SIZE).enumerate() {
        let place = format!("entry {}", i);
        let hash = crate::bytes::u64_at(raw, 0);
        let slot = names.slot(hash).filter(|&slot| found[slot].is_none()).ok_or_else(|| {
            let detail = format!("{:016x} is no tensor that is not there yet", hash);
            Error::new(Code::TensorUnexpected, &place, detail)
        })?;
        let entry = Entry::parse(raw, names.shape(slot), bytes.len() as u64, header.data);
        found[slot] = Some(
            entry
                .map_err(|error| Error { place: format!("{} {}", place, error.place), ..error })?,
        );
    }
    // The count of the header leaves one name at most: that of the head, where it is tied.
    let last = names.len() - 1;
    match found.iter().position(Option::is_none) {
        Some(slot) if slot != last || !header.tied => {
            Err(Error::new(Code::TensorMissing, "directory", format!("tensor {} is absent", slot)))
        }
        _ => Ok(found),
    }
}

/// `None` where the field is not there, in a file of whatever length.
fn field(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).map(|raw| u32_at(raw, 0))
}
