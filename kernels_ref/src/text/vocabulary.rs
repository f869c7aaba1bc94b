//! Tokens by id and ids by token, in the bytes of the file.
//!
//! Tokens are front-coded in blocks of sixteen, in the order of their bytes. The arrays were checked
//! when the file was opened.

use super::crc32::Crc;
use crate::bytes::u32_at;

/// No id, no position.
pub const NONE: u32 = u32::MAX;
/// Tokens of a block.
pub const BLOCK: usize = 16;

/// Bucket of a hash under 2^`log` buckets.
#[inline]
pub fn bucket(mixed: u32, log: u32) -> usize {
    (u64::from(mixed) >> (32 - log)) as usize
}

/// A number of the file's arrays.
#[inline]
pub fn entry(array: &[u8], index: usize) -> u32 {
    u32_at(array, 4 * index)
}

/// The vocabulary; arrays are little-endian numbers of four bytes.
pub struct Vocabulary<'a> {
    /// Offsets of the blocks.
    pub starts: &'a [u8],
    /// The blocks.
    pub blocks: &'a [u8],
    /// The id at each position.
    pub ids: &'a [u8],
    /// The position of each id.
    pub positions: &'a [u8],
    /// First entry of each bucket.
    pub buckets: &'a [u8],
    /// The position of each entry.
    pub entries: &'a [u8],
    /// One byte of the hash of each entry.
    pub tags: &'a [u8],
    /// Logarithm of the number of buckets.
    pub log: u32,
    /// Bytes of the longest token.
    pub longest: usize,
}

/// One token of a block: bytes shared with the one before, and the rest.
struct Coded<'a> {
    shared: usize,
    rest: &'a [u8],
}

/// The tokens of a block, one after the other.
pub struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    first: bool,
}

impl<'a> Walk<'a> {
    /// From the first token of a block on.
    pub fn new(bytes: &'a [u8]) -> Walk<'a> {
        Walk { bytes, at: 0, first: true }
    }

    /// A number in its shortest form, and where it stands.
    pub fn varint(&mut self) -> Option<usize> {
        let mut value = 0;
        for shift in (0..21).step_by(7) {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            value |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return (byte != 0 || shift == 0).then_some(value);
            }
        }
        None
    }

    fn coded(&mut self) -> Option<Coded<'a>> {
        let shared = if self.first { 0 } else { self.varint()? };
        let len = self.varint()?;
        self.first = false;
        let rest = self.bytes.get(self.at..self.at + len)?;
        self.at += len;
        Some(Coded { shared, rest })
    }

    /// Turn the token before into the next one; None where the bytes are no token.
    pub fn step(&mut self, token: &mut Vec<u8>) -> Option<usize> {
        let Coded { shared, rest } = self.coded()?;
        if shared > token.len() {
            return None;
        }
        token.truncate(shared);
        token.extend_from_slice(rest);
        Some(shared)
    }

    /// Bytes gone past.
    pub fn at(&self) -> usize {
        self.at
    }
}

impl<'a> Vocabulary<'a> {
    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.ids.len() / 4
    }

    fn block(&self, number: usize) -> Walk<'a> {
        let (start, end) = (entry(self.starts, number), entry(self.starts, number + 1));
        Walk::new(&self.blocks[start as usize..end as usize])
    }

    /// The id at a position.
    #[inline]
    pub fn id_at(&self, position: usize) -> u32 {
        entry(self.ids, position)
    }

    fn position(&self, id: u32) -> u32 {
        let inside = (id as usize) < self.positions.len() / 4;
        if inside {
            entry(self.positions, id as usize)
        } else {
            NONE
        }
    }

    /// Whether a token has this id.
    pub fn has(&self, id: u32) -> bool {
        self.position(id) != NONE
    }

    /// Write the token of an id; false where there is none.
    pub fn text_of(&self, id: u32, token: &mut Vec<u8>) -> bool {
        token.clear();
        let position = self.position(id);
        if position == NONE {
            return false;
        }
        let mut walk = self.block(position as usize / BLOCK);
        (0..=position as usize % BLOCK).all(|_| walk.step(token).is_some())
    }

    /// The id of a token.
    pub fn find(&self, text: &[u8]) -> Option<u32> {
        if text.len() > self.longest {
            return None;
        }
        self.find_hashed(Crc::of(text), text)
    }

    /// The id of a token whose hash is known.
    pub fn find_hashed(&self, hash: u32, text: &[u8]) -> Option<u32> {
        let at = bucket(hash.wrapping_mul(0x9e37_79b1), self.log);
        let (start, end) = (entry(self.buckets, at) as usize, entry(self.buckets, at + 1) as usize);
        (start..end)
            .filter(|&row| self.tags[row] == hash as u8)
            .map(|row| entry(self.entries, row) as usize)
            .find(|&position| self.is_at(position, text))
            .map(|position| self.id_at(position))
    }

    /// Whether a text is the token at a position, without writing the tokens before it.
    fn is_at(&self, position: usize, text: &[u8]) -> bool {
        let mut walk = self.block(position / BLOCK);
        let mut agreed = 0;
        let mut length = 0;
        for _ in 0..=position % BLOCK {
            let coded = match walk.coded() {
                Some(coded) => coded,
                None => return false,
            };
            length = coded.shared + coded.rest.len();
            if coded.shared < agreed {
                // The token before went on as the text does, this one does not.
                agreed = coded.shared;
            } else if coded.shared == agreed {
                let pairs = coded.rest.iter().zip(&text[agreed..]);
                agreed += pairs.take_while(|(a, b)| a == b).count();
            }
        }
        agreed == text.len() && length == agreed
    }

    /// Every token in the order of bytes, with its id.
    pub fn each(&self, mut see: impl FnMut(&[u8], u32)) {
        let mut token = Vec::new();
        for number in 0..(self.len() + BLOCK - 1) / BLOCK {
            let mut walk = self.block(number);
            for position in number * BLOCK..self.len().min((number + 1) * BLOCK) {
                if walk.step(&mut token).is_none() {
                    return;
                }
                see(&token, self.id_at(position));
            }
        }
    }
}
