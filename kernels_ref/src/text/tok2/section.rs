//! One section under a reader: numbers out of it, and refusals with the offset in the block.

use crate::bytes::{reserve, u32_at};
use crate::error::{ensure, Code, Error, Result};

/// No reference.
pub const NONE: u32 = u32::MAX;

/// The bytes of a section, where it begins in the block, and the code of what is wrong in it.
#[derive(Clone, Copy)]
pub struct Section<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Their place in the block.
    pub offset: usize,
    /// The code of its own rules.
    pub code: Code,
}

/// A refusal of what stands at a byte of the block.
pub fn refused(code: Code, at: usize, detail: impl Into<String>) -> Error {
    Error::new(code, format!("byte {}", at), detail)
}

impl<'a> Section<'a> {
    /// A refusal of what stands at a byte of the section.
    pub fn fault(&self, at: usize, detail: impl Into<String>) -> Error {
        refused(self.code, self.offset + at, detail)
    }

    /// Refuse what stands at a byte of the section unless a condition holds.
    pub fn ensure(&self, holds: bool, at: usize, detail: &str) -> Result<()> {
        ensure(holds, || self.fault(at, detail))
    }

    /// Refuse a section that is shorter than its counts say; the length is counted wide.
    pub fn need(&self, length: u64, at: usize) -> Result<()> {
        ensure(self.bytes.len() as u64 >= length, || {
            let detail = format!("{} bytes are wanted, {} there", length, self.bytes.len());
            self.fault(at, detail)
        })
    }

    /// Refuse a section that has another length.
    pub fn exactly(&self, length: u64, at: usize) -> Result<()> {
        ensure(self.bytes.len() as u64 == length, || {
            let detail = format!("{} bytes are wanted, {} there", length, self.bytes.len());
            self.fault(at, detail)
        })
    }

    /// One number, which is known to be there.
    pub fn u32(&self, at: usize) -> u32 {
        u32_at(self.bytes, at)
    }

    /// Some numbers, which are known to be there.
    pub fn numbers(&self, at: usize, count: usize) -> impl Iterator<Item = u32> + 'a {
        self.bytes[at..at + 4 * count].chunks_exact(4).map(|chunk| u32_at(chunk, 0))
    }

    /// Refuse reserved bytes that are not zero.
    pub fn zeros(&self, at: usize, len: usize) -> Result<()> {
        match self.bytes[at..at + len].iter().position(|&byte| byte != 0) {
            None => Ok(()),
            Some(found) => Err(self.fault(at + found, "a reserved byte is not zero")),
        }
    }

    /// The ends of the members of a pool, behind their count, ascending.
    pub fn ends(&self) -> Result<Vec<usize>> {
        self.need(4, 0)?;
        let count = self.u32(0) as usize;
        self.need(4 + 4 * count as u64, 0)?;
        let mut ends = Vec::new();
        reserve(&mut ends, count)?;
        for (i, end) in self.numbers(4, count).enumerate() {
            let before = ends.last().copied().unwrap_or(0);
            self.ensure(end as usize >= before, 4 + 4 * i, "an end before the one before it")?;
            ends.push(end as usize);
        }
        Ok(ends)
    }

    /// Refuse a member that stands twice; `place` is where each stands.
    pub fn unlike<T: Ord>(&self, members: &[T], place: impl Fn(usize) -> usize) -> Result<()> {
        let mut order: Vec<usize> = (0..members.len()).collect();
        order.sort_by(|&a, &b| members[a].cmp(&members[b]).then(a.cmp(&b)));
        let again = order.windows(2).filter(|pair| members[pair[0]] == members[pair[1]]);
        match again.map(|pair| pair[1]).min() {
            None => Ok(()),
            Some(member) => Err(self.fault(place(member), "a member that is there already")),
        }
    }
}
