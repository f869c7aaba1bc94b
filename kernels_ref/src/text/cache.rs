//! Pieces met before with their tokens: bounded, emptied when full.

use super::models::Part;

/// Longest piece kept, and the most tokens of one.
pub const LONGEST: usize = 48;
/// Slots at most; at most half of them are taken.
const MOST_SLOTS: usize = 1 << 16;
/// Bytes of all pieces kept, and tokens.
const MOST_BYTES: usize = 1 << 20;
/// Slots looked at for one piece.
const PROBES: usize = 8;

#[derive(Clone, Copy, Default)]
struct Slot {
    hash: u32,
    text: u32,
    parts: u32,
    length: u16,
    count: u16,
}

/// The pieces of one model.
#[derive(Default)]
pub struct Cache {
    slots: Vec<Slot>,
    taken: usize,
    texts: Vec<u8>,
    parts: Vec<Part>,
}

/// What a look-up found.
pub enum Kept {
    /// The tokens, a range of `parts`.
    Tokens(usize, usize),
    /// Nothing; the piece may be kept under this hash.
    New(u32),
    /// Nothing, and the piece is too long to be kept.
    Long,
}

fn hash(text: &[u8]) -> u32 {
    let mut state = text.len() as u64;
    let mix =
        |state: u64, word: u64| (state.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut words = text.chunks_exact(8);
    for word in &mut words {
        state = mix(state, word.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)));
    }
    let rest = words.remainder().iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
    (mix(state, rest) >> 32) as u32
}

impl Cache {
    /// Look for a piece that is not empty.
    #[inline]
    pub fn find(&self, text: &[u8]) -> Kept {
        if text.len() > LONGEST {
            return Kept::Long;
        }
        let hash = hash(text);
        let mask = self.slots.len().wrapping_sub(1);
        for probe in 0..PROBES.min(self.slots.len()) {
            let slot = &self.slots[(hash as usize).wrapping_add(probe) & mask];
            if slot.length == 0 {
                break;
            }
            if slot.hash == hash && usize::from(slot.length) == text.len() {
                let start = slot.text as usize;
                if &self.texts[start..start + text.len()] == text {
                    let first = slot.parts as usize;
                    return Kept::Tokens(first, first + usize::from(slot.count));
                }
            }
        }
        Kept::New(hash)
    }

    /// The tokens of a range.
    #[inline]
    pub fn tokens(&self, start: usize, end: usize) -> &[Part] {
        &self.parts[start..end]
    }

    /// Keep a piece that was not found.
    pub fn keep(&mut self, hash: u32, text: &[u8], parts: &[Part]) {
        if parts.len() > LONGEST {
            return;
        }
        if 2 * (self.taken + 1) > self.slots.len() {
            self.grow();
        }
        if self.texts.len() + text.len() > MOST_BYTES || self.parts.len() > MOST_BYTES / 12 {
            self.clear(self.slots.len());
        }
        let slot = Slot {
            hash,
            text: self.texts.len() as u32,
            parts: self.parts.len() as u32,
            length: text.len() as u16,
            count: parts.len() as u16,
        };
        self.put(slot);
        self.texts.extend_from_slice(text);
        self.parts.extend_from_slice(parts);
    }

    fn clear(&mut self, slots: usize) {
        self.slots.clear();
        self.slots.resize(slots, Slot::default());
        self.taken = 0;
        self.texts.clear();
        self.parts.clear();
    }

    fn grow(&mut self) {
        if self.slots.len() >= MOST_SLOTS {
            self.clear(MOST_SLOTS);
            return;
        }
        let larger = (2 * self.slots.len()).max(1 << 10);
        let old = std::mem::replace(&mut self.slots, vec![Slot::default(); larger]);
        self.taken = 0;
        old.into_iter().filter(|slot| slot.length != 0).for_each(|slot| self.put(slot));
    }

    /// Into the first free slot of a few, or in place of what has the first of them.
    fn put(&mut self, slot: Slot) {
        let mask = self.slots.len().wrapping_sub(1);
        let home = slot.hash as usize & mask;
        for probe in 0..PROBES.min(self.slots.len()) {
            let place = &mut self.slots[(home + probe) & mask];
            if place.length == 0 {
                *place = slot;
                self.taken += 1;
                return;
            }
        }
        self.slots[home] = slot;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(cache: &Cache, text: &[u8]) -> Option<Vec<Part>> {
        match cache.find(text) {
            Kept::Tokens(start, end) => Some(cache.tokens(start, end).to_vec()),
            _ => None,
        }
    }

    #[test]
    fn what_is_found_was_kept() {
        let mut cache = Cache::default();
        for number in 0..200_000u32 {
            let text = format!("word{}", number);
            if let Kept::New(hash) = cache.find(text.as_bytes()) {
                cache.keep(hash, text.as_bytes(), &[Part { id: number, start: 0, end: 1 }]);
            }
            let old = number / 2;
            if let Some(parts) = kept(&cache, format!("word{}", old).as_bytes()) {
                assert_eq!(parts, [Part { id: old, start: 0, end: 1 }]);
            }
        }
        assert!(kept(&cache, b"word199999").is_some());
        assert!(cache.slots.len() <= MOST_SLOTS && cache.texts.len() <= MOST_BYTES);
    }

    #[test]
    fn long_pieces_are_not_kept() {
        assert!(matches!(Cache::default().find(&[b'a'; LONGEST + 1]), Kept::Long));
    }
}
