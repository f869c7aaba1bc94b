//! The Precompiled normalizer: SentencePiece's table of texts, applied as the source applies it.
//!
//! The table is a double array over UTF-8 bytes and a blob of texts that end with NUL. Of the keys
//! that begin a chunk the source takes the shortest, and the whole chunk becomes its text.
//! Source of facts: the format of Darts-clone's double arrays, and SentencePiece's.

use super::aligned::{Change, Changed, View};
use super::clusters::{clusters, ClusterSets};
use super::scalars::{continues, count, scalars};
use super::sets::ScalarSet;
use super::vocabulary::entry;

const LEAF: u32 = 1 << 8;
const LABEL: u32 = 1 << 31 | 0xff;
/// SentencePiece looks at so many keys at one place, the shortest first.
const SEEN: usize = 32;
/// First and last byte, and the state that follows, by state; 0 is between two characters, the
/// others are named by the bytes that may follow (Unicode Standard, table 3-7).
const STATES: [&[(u8, u8, usize)]; 8] = [
    &[
        (0x01, 0x7f, 0),
        (0xc2, 0xdf, 1),
        (0xe0, 0xe0, 4),
        (0xe1, 0xec, 2),
        (0xed, 0xed, 5),
        (0xee, 0xef, 2),
        (0xf0, 0xf0, 6),
        (0xf1, 0xf3, 3),
        (0xf4, 0xf4, 7),
    ],
    &[(0x80, 0xbf, 0)],
    &[(0x80, 0xbf, 1)],
    &[(0x80, 0xbf, 2)],
    &[(0xa0, 0xbf, 1)],
    &[(0x80, 0x9f, 1)],
    &[(0x90, 0xbf, 2)],
    &[(0x80, 0x8f, 2)],
];

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
                return self.text_at(value);
            }
        }
        None
    }

    /// The longest key of whole characters that a text begins with: its bytes, and what stands in
    /// their place.
    pub fn longest(&self, text: &[u8]) -> Option<(usize, &'a [u8])> {
        let (mut found, mut seen) = (None, 0);
        let mut place = offset(self.unit(0)?);
        for (i, &byte) in text.iter().enumerate() {
            place ^= u32::from(byte);
            let unit = match self.unit(place) {
                Some(unit) if byte != 0 && unit & LABEL == u32::from(byte) => unit,
                _ => break,
            };
            place ^= offset(unit);
            let value = match self.unit(place) {
                Some(value) => value,
                None => break,
            };
            if let Some(instead) = (unit & LEAF != 0).then(|| self.text_at(value)).and_then(|t| t) {
                found = Some((i + 1, instead));
                seen += 1;
                if seen == SEEN {
                    break;
                }
            }
        }
        found
    }

    /// The text that a key leads to; None where none begins there.
    fn text_at(&self, value: u32) -> Option<&'a [u8]> {
        let rest = self.texts.get((value & 0x7fff_ffff) as usize..)?;
        let begins = rest.first().map_or(false, |&byte| !continues(byte));
        rest.get(..rest.iter().position(|&byte| byte == 0)?).filter(|_| begins)
    }

    /// Whether every key that a text can have ends where a character ends: each place that
    /// well-formed UTF-8 reaches is looked at once in each state.
    pub fn has_whole_keys(&self) -> bool {
        let mut seen = vec![0u8; self.units.len() / 4];
        let mut waiting = vec![(0, offset(self.unit(0).unwrap_or(0)))];
        while let Some((state, from)) = waiting.pop() {
            for &(first, last, next) in STATES[state] {
                for byte in first..=last {
                    let unit = match self.unit(from ^ u32::from(byte)) {
                        Some(unit) if unit & LABEL == u32::from(byte) => unit,
                        _ => continue,
                    };
                    let end = from ^ u32::from(byte) ^ offset(unit);
                    let flags = match seen.get_mut(end as usize) {
                        Some(flags) => flags,
                        None => continue,
                    };
                    if next != 0 && unit & LEAF != 0 {
                        return false;
                    }
                    if *flags & 1 << next == 0 {
                        *flags |= 1 << next;
                        waiting.push((next, end));
                    }
                }
            }
        }
        true
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
