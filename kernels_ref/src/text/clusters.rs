//! Grapheme clusters, as far as the Precompiled normalizer of the source asks for them.
//!
//! It takes clusters of fewer than six bytes as a whole. Flags need no rule for that: whatever holds
//! one is longer. Source of facts: Unicode Standard Annex 29.

use super::scalars::scalar_at;
use super::sets::{Range, ScalarSet};

const JOINER: u32 = 0x200d;
const SYLLABLES: Range = (0xac00, 0xd7a3);
const LEADS: [Range; 2] = [(0x1100, 0x115f), (0xa960, 0xa97c)];
const VOWELS: [Range; 2] = [(0x1160, 0x11a7), (0xd7b0, 0xd7c6)];
const TAILS: [Range; 2] = [(0x11a8, 0x11ff), (0xd7cb, 0xd7fb)];

/// The sets that borders depend on, by number.
#[derive(Clone, Copy)]
pub struct ClusterSets {
    /// Joined to what is before.
    pub joined: usize,
    /// Joined to what is behind.
    pub prepend: usize,
    /// Alone.
    pub control: usize,
    /// Pictographs.
    pub pictographic: usize,
    /// Consonants of conjuncts.
    pub consonant: usize,
    /// What links them.
    pub linker: usize,
    /// What may stand between.
    pub middle: usize,
}

/// What the scalars before a place have to do with it.
struct Walk<'s> {
    sets: &'s [ScalarSet],
    names: ClusterSets,
    /// 1 after a consonant, 2 once a linker has followed.
    conjunct: u8,
    /// 1 after a pictograph, 2 once a joiner has followed.
    picture: u8,
}

/// The end of the cluster that begins at each place in turn.
pub fn clusters(
    text: &[u8],
    names: ClusterSets,
    sets: &[ScalarSet],
    mut see: impl FnMut(usize, usize),
) {
    let mut walk = Walk { sets, names, conjunct: 0, picture: 0 };
    let (mut start, mut at, mut last) = (0, 0, None);
    while at < text.len() {
        let (code, len) = scalar_at(text, at);
        if last.map_or(false, |before| !walk.joins(before, code)) {
            see(start, at);
            start = at;
        }
        walk.step(code);
        last = Some(code);
        at += len;
    }
    if start < at {
        see(start, at);
    }
}

impl Walk<'_> {
    fn has(&self, set: usize, code: u32) -> bool {
        self.sets[set].has(code)
    }

    /// Whether there is no border between two scalars.
    fn joins(&self, before: u32, code: u32) -> bool {
        let names = &self.names;
        if before == 0x0d && code == 0x0a {
            return true;
        }
        if before < 0x80 && code < 0x80 {
            return false;
        }
        if self.has(names.control, before) || self.has(names.control, code) {
            return false;
        }
        self.has(names.joined, code)
            || self.has(names.prepend, before)
            || (self.conjunct == 2 && self.has(names.consonant, code))
            || (self.picture == 2 && self.has(names.pictographic, code))
            || syllable(before, code)
    }

    /// Go past a scalar.
    fn step(&mut self, code: u32) {
        if code < 0x80 {
            self.conjunct = 0;
            self.picture = 0;
            return;
        }
        let names = self.names;
        if self.has(names.consonant, code) {
            self.conjunct = 1;
        } else if self.conjunct != 0 && self.has(names.linker, code) {
            self.conjunct = 2;
        } else if !self.has(names.middle, code) {
            self.conjunct = 0;
        }
        if self.has(names.pictographic, code) {
            self.picture = 1;
        } else if self.picture != 0 {
            self.picture = if code == JOINER { 2 } else { u8::from(self.has(names.joined, code)) };
        }
    }
}

fn within(code: u32, ranges: &[Range]) -> bool {
    ranges.iter().any(|&(low, high)| low <= code && code <= high)
}

/// Whether Hangul jamo and syllables go together.
fn syllable(before: u32, code: u32) -> bool {
    let whole = within(before, &[SYLLABLES]);
    let open = whole && (before - SYLLABLES.0) % 28 == 0;
    if within(before, &LEADS) {
        return within(code, &LEADS) || within(code, &VOWELS) || within(code, &[SYLLABLES]);
    }
    if open || within(before, &VOWELS) {
        return within(code, &VOWELS) || within(code, &TAILS);
    }
    (whole || within(before, &TAILS)) && within(code, &TAILS)
}
