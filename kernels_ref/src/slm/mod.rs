//! A strict reader of SLM2 containers, of its own: it shares no code with the packer.

pub mod descriptor;
mod directory;
pub mod header;
pub mod numbers;
mod pieces;
mod residual;
mod strings;
pub mod verify;

use crate::bytes::Span;
use crate::error::{Code, Error, Result};
use descriptor::Descriptor;
use header::Header;
use strings::Strings;

/// A checked container over the file's bytes.
pub struct Container<'a> {
    /// The whole file.
    pub bytes: &'a [u8],
    /// Its header.
    pub header: Header,
    strings: Strings<'a>,
}

impl<'a> Container<'a> {
    /// Check every structural rule. Counts and ranges are checked before anything is allocated.
    pub fn parse(bytes: &'a [u8]) -> Result<Container<'a>> {
        let header = Header::parse(bytes)?;
        let strings = Strings::parse(header.strings.of(bytes, "string table")?)?;
        let container = Container { bytes, header, strings };
        directory::check(&container)?;
        pieces::check(bytes, &container.header)?;
        Ok(container)
    }

    /// Check the content of the planes: codes, scales, entries and stored floats.
    pub fn check_content(&self) -> Result<()> {
        directory::check_content(self)
    }

    /// The configuration section.
    pub fn config(&self) -> Result<&'a [u8]> {
        self.header.config.of(self.bytes, "configuration")
    }

    /// Number of tensors.
    pub fn len(&self) -> u32 {
        self.header.tensor_count
    }

    /// Whether there is no tensor; a container that parsed has one.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Descriptor `i`.
    pub fn descriptor(&self, i: u32) -> Result<Descriptor> {
        let start = self.header.directory.start + u64::from(i) * descriptor::SIZE as u64;
        let span = Span::new("directory", start, descriptor::SIZE as u64)?;
        Ok(Descriptor::decode(span.of(self.bytes, "directory")?))
    }

    /// Name of a tensor.
    pub fn name(&self, tensor: &Descriptor) -> Result<&'a str> {
        self.strings.get(tensor.name_id).ok_or_else(|| {
            let detail = format!("name {} of {} strings", tensor.name_id, self.strings.len());
            Error::new(Code::Strings, "directory", detail)
        })
    }

    /// The descriptor that holds the payload: the tensor itself, or what it aliases.
    pub fn payload_of(&self, tensor: &Descriptor) -> Result<Descriptor> {
        match tensor.layout {
            numbers::LAYOUT_ALIAS => self.descriptor(tensor.alias_of),
            _ => Ok(*tensor),
        }
    }
}
