//! Tokens and merges in the forms that lookups need: sections 8 to 11 of a TOK2 block.

use super::frame::log2;
use super::vocabulary::{counted, indexed};
use super::write::{put, set, Writer};
use crate::error::Result;
use crate::text::crc32::Crc;
use crate::text::models::merging::pair_bucket;
use crate::text::vocabulary::BLOCK;

/// Bytes of the two lengths before a token.
const LENGTHS: usize = 6;

/// What a vocabulary holds.
pub struct Words<'t> {
    /// Tokens in ascending order of their bytes, each with its id.
    pub tokens: &'t [(&'t [u8], u32)],
    /// The largest id and 1.
    pub id_limit: usize,
    /// Left, right, rank, made; no pair twice.
    pub merges: Vec<[u32; 4]>,
}

impl Words<'_> {
    /// Write the four sections.
    pub fn write(mut self, writer: &mut Writer) -> Result<()> {
        let count = self.tokens.len();
        let bytes: usize = self.tokens.iter().map(|(token, _)| token.len() + LENGTHS).sum();
        writer.section(4 * (count / BLOCK + 2) + bytes, |out| self.coded(out))?;
        writer.section(4 * (count + self.id_limit), |out| self.order(out))?;
        let log = log2(count / 2);
        writer.section(4 * ((1 << log) + 1) + 5 * count, |out| self.index(out, log))?;
        let log = log2(self.merges.len());
        let length = 16 * self.merges.len() + 4 * ((1 << log) + 1);
        writer.section(length, |out| self.ranked(out, log))
    }

    /// Blocks of sixteen tokens, all but the first by what they do not share with the one before.
    fn coded(&self, out: &mut Vec<u8>) {
        let starts = out.len();
        let blocks = (self.tokens.len() + BLOCK - 1) / BLOCK;
        let first = starts + 4 * (blocks + 1);
        out.resize(first, 0);
        let mut before: &[u8] = &[];
        for (position, &(token, _)) in self.tokens.iter().enumerate() {
            let mut shared = 0;
            if position % BLOCK == 0 {
                let at = out.len() - first;
                set(out, starts + position / BLOCK * 4, at);
            } else {
                shared = before.iter().zip(token).take_while(|(a, b)| a == b).count();
                varint(out, shared);
            }
            varint(out, token.len() - shared);
            out.extend_from_slice(&token[shared..]);
            before = token;
        }
        let end = out.len() - first;
        set(out, starts + 4 * blocks, end);
    }

    /// Ids by position, then positions by id; an id without token has none.
    fn order(&self, out: &mut Vec<u8>) {
        put(out, self.tokens.iter().map(|(_, id)| id));
        let positions = out.len();
        out.resize(positions + 4 * self.id_limit, 0xff);
        for (position, &(_, id)) in self.tokens.iter().enumerate() {
            set(out, positions + 4 * id as usize, position);
        }
    }

    fn index(&self, out: &mut Vec<u8>, log: u32) {
        let hashes: Vec<u32> = self.tokens.iter().map(|(token, _)| Crc::of(token)).collect();
        let (starts, positions) = indexed(&hashes, log);
        put(out, &starts);
        put(out, &positions);
        out.extend(positions.iter().map(|&position| hashes[position as usize] as u8));
    }

    fn ranked(&mut self, out: &mut Vec<u8>, log: u32) {
        let place = |row: &[u32; 4]| pair_bucket(row[0], row[1], log);
        self.merges.sort_unstable_by_key(|row| (place(row), row[0], row[1]));
        put(out, self.merges.iter().flatten());
        put(out, &counted(self.merges.iter().map(place), 1 << log));
    }
}

/// LEB128 in its shortest form.
fn varint(out: &mut Vec<u8>, mut number: usize) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
