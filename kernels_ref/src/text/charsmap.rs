//! The Precompiled normalizer: SentencePiece's table of texts, applied as the source applies it.
//!
//! The table is a double array over UTF-8 bytes and a blob of texts that end with NUL. Of the keys
//! that begin a chunk the source takes the shortest, and the whole chunk becomes its text.
//! Source of facts: the format of Darts-clone's double arrays, and SentencePiece's.

use super::aligned::{Change, Changed, View};
use super::clusters::{clusters, ClusterSets};
use super::scalars::{count, scalars};
use super::sets::ScalarSet;
use super::vocabulary::entry;

const LEAF: u32 = 1 << 8;
const LABEL: u32 = 1 << 31 | 0xff;

/// Units of the double array, and the texts.
#[derive(Clone, Copy)]
pub struct Charsmap<'a> {
    /// Four bytes each.
    pub units: &'a [u8],
    /// Each ends with 0.
    pub texts: &'a [u8],
}

fn offset(unit: u32) -> u32 {
    unit >> 10 << ((unit & 1 << 9) >> 6)
}

impl<'a> Charsmap<'a> {
    fn unit(&self, place: u32) -> Option<u32> {
        let inside = (place as usize) < self.units.len() / 4;
        inside.then(|| entry(self.units, place as usize))
    }

    /// The text in place of a chunk; None where no key begins it.
    pub fn text_for(&self, chunk: &[u8]) -> Option<&'a [u8]> {
        let mut place = offset(self.unit(0)?);
        for &byte in chunk {
            place ^= u32::from(byte);
            let unit = self.unit(place).filter(|unit| unit & LABEL == u32::from(byte))?;
            if byte == 0 {
                return None;
            }
            place ^= offset(unit);
            let value = self.unit(place)?;
            if unit & LEAF != 0 {
                let rest = self.texts.get((value & 0x7fff_ffff) as usize..)?;
                return rest.get(..rest.iter().position(|&byte| byte == 0)?);
            }
        }
        None
    }

    /// Short clusters as a whole where a key begins them, all else scalar by scalar.
    pub fn apply(&self, piece: View, names: ClusterSets, sets: &[ScalarSet]) -> Option<Changed> {
        let mut changes: Vec<Change> = Vec::new();
        let mut changed = false;
        clusters(piece.text, names, sets, |start, end| {
            let cluster = &piece.text[start..end];
            let whole = if end - start < 6 { self.text_for(cluster) } else { None };
            if let Some(text) = whole {
                put(&mut changes, count(cluster), text);
                changed = true;
                return;
            }
            for (at, code) in scalars(cluster) {
                let len = super::scalars::length_of(cluster[at]);
                match self.text_for(&cluster[at..cluster.len().min(at + len)]) {
                    Some(text) => {
                        put(&mut changes, 1, text);
                        changed = true;
                    }
                    None => changes.push((code, 0)),
                }
            }
        });
        if !changed {
            return None;
        }
        piece.rewritten(|writer| changes.iter().for_each(|&(code, n)| writer.put(code, n)))
    }
}

/// A text in place of so many scalars: what is too much is inserted, what is missing removed.
fn put(changes: &mut Vec<Change>, replaced: usize, text: &[u8]) {
    let surplus = count(text) as i64 - replaced as i64;
    changes.extend(scalars(text).map(|(_, code)| (code, 0)));
    if surplus > 0 {
        let start = changes.len() - surplus as usize;
        changes[start..].iter_mut().for_each(|change| change.1 = 1);
    } else if let Some(last) = changes.last_mut() {
        last.1 += surplus as i32;
    }
}
