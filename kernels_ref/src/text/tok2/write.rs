//! Writer of TOK2 blocks, from docs/formats/tok2.md: one section behind the other, in one piece of
//! memory.

use super::frame::{DIRECTORY_END, HEADER, SECTIONS, SELF_HASH};
use crate::error::{Code, Error, Result};
use crate::sha256;

/// The numbers of the header that a tokenizer of profile 1 without added tokens settles.
pub struct Counts {
    /// Kind of the model.
    pub kind: u32,
    /// Tokens of the vocabulary.
    pub tokens: usize,
    /// The largest id and 1.
    pub id_limit: usize,
    /// Merges.
    pub merges: usize,
}

/// A block under way.
pub struct Writer {
    out: Vec<u8>,
    written: usize,
}

impl Writer {
    /// A block without sections.
    pub fn new() -> Writer {
        Writer { out: vec![0; DIRECTORY_END], written: 0 }
    }

    /// The next section, of `most` bytes at most; one without bytes has no place.
    pub fn section(&mut self, most: usize, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let end = self.out.len();
        let start = (end + 15) / 16 * 16;
        let room = start - end + most;
        self.out
            .try_reserve_exact(room)
            .map_err(|_| Error::new(Code::OutOfMemory, "allocation", format!("{} bytes", room)))?;
        self.out.resize(start, 0);
        write(&mut self.out);
        let length = self.out.len() - start;
        let offset = if length > 0 { start } else { 0 };
        self.out.truncate(if length > 0 { start + length } else { end });
        let row = HEADER + 16 * self.written;
        self.written += 1;
        for (i, number) in [self.written, offset, length].into_iter().enumerate() {
            set(&mut self.out, row + 4 * i, number);
        }
        Ok(())
    }

    /// The block with header and hash, all sections being there.
    pub fn sealed(mut self, counts: &Counts) -> Vec<u8> {
        self.out[..4].copy_from_slice(b"TOK2");
        let length = self.out.len();
        let numbers = [
            (4, 1),
            (8, HEADER),
            (16, length),
            (20, SECTIONS),
            (24, HEADER),
            (28, counts.kind as usize),
            (32, counts.tokens),
            (36, counts.id_limit),
            (40, counts.merges),
            (48, 16),
            (52, 1),
        ];
        numbers.iter().for_each(|&(at, number)| set(&mut self.out, at, number));
        let digest = sha256::digest(&[&self.out]);
        self.out[SELF_HASH..SELF_HASH + 32].copy_from_slice(&digest);
        self.out
    }
}

/// A number in the place of four bytes.
pub fn set(out: &mut [u8], at: usize, number: usize) {
    out[at..at + 4].copy_from_slice(&(number as u32).to_le_bytes());
}

/// Numbers of four bytes, behind what is there.
pub fn put<'n>(out: &mut Vec<u8>, numbers: impl IntoIterator<Item = &'n u32>) {
    numbers.into_iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
}
