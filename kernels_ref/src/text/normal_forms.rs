//! Unicode normalization forms over the tables of the file, with alignments.
//!
//! Decomposition puts the parts of a scalar after each other and sorts marks by combining class;
//! composition joins a starter with the marks behind it that nothing blocks. Hangul is arithmetic.

use super::aligned::{Change, Changed, View, Writer};
use super::scalars::scalars;
use super::tables::{Classes, Compositions, Map};

const S: u32 = 0xac00;
const L: u32 = 0x1100;
const V: u32 = 0x1161;
const T: u32 = 0x11a7;
const LS: u32 = 19;
const VS: u32 = 21;
const TS: u32 = 28;
const SYLLABLES: u32 = LS * VS * TS;

/// One of the four forms.
#[derive(Clone, Copy)]
pub struct Form<'a> {
    /// Canonical decompositions.
    pub canonical: Map<'a>,
    /// Compatibility decompositions: NFKC and NFKD.
    pub compatible: Option<Map<'a>>,
    /// Combining classes.
    pub classes: Classes<'a>,
    /// Compositions: NFC and NFKC.
    pub composed: Option<Compositions<'a>>,
}

/// A text on its way, up to the next scalar that nothing before it meets.
#[derive(Default)]
struct Stretch {
    changes: Vec<Change>,
    marks: Vec<(u32, Change)>,
}

impl Form<'_> {
    /// The piece in this form; None where it has it.
    pub fn apply(&self, piece: View) -> Option<Changed> {
        let only_composed = self.composed.is_some() && self.compatible.is_none();
        // Below U+0300, which begins with CC, nothing changes in NFC.
        let first = if only_composed { 0xcc } else { 0x80 };
        if piece.text.iter().all(|&byte| byte < first) {
            return None;
        }
        piece.rewritten(|writer| {
            let mut stretch = Stretch::default();
            for (_, code) in scalars(piece.text) {
                if code < 0x80 {
                    // ASCII joins nothing before it and stays as it is.
                    self.finish(&mut stretch, writer);
                    stretch.changes.push((code, 0));
                } else {
                    self.decompose(code, &mut stretch);
                }
            }
            self.finish(&mut stretch, writer);
        })
    }

    fn finish(&self, stretch: &mut Stretch, writer: &mut Writer) {
        sort_marks(stretch);
        if let Some(pairs) = &self.composed {
            self.compose(&mut stretch.changes, pairs);
        }
        stretch.changes.drain(..).for_each(|(code, change)| writer.put(code, change));
    }

    fn decompose(&self, code: u32, stretch: &mut Stretch) {
        let mut put = |index: usize, part: u32| {
            let change = (part, i32::from(index > 0));
            match self.classes.get(part) {
                0 => {
                    sort_marks(stretch);
                    stretch.changes.push(change);
                }
                class => stretch.marks.push((class, change)),
            }
        };
        if (S..S + SYLLABLES).contains(&code) {
            let (index, tail) = (code - S, (code - S) % TS);
            let parts = [L + index / (VS * TS), V + index % (VS * TS) / TS, T + tail];
            let count = if tail == 0 { 2 } else { 3 };
            parts[..count].iter().enumerate().for_each(|(i, &part)| put(i, part));
            return;
        }
        let other = self.compatible.as_ref().and_then(|table| table.get(code));
        match other {
            Some(parts) => parts.enumerate().for_each(|(i, part)| put(i, part)),
            None => match self.canonical.get(code) {
                Some(parts) => parts.enumerate().for_each(|(i, part)| put(i, part)),
                None => put(0, code),
            },
        }
    }

    /// Join pairs; the change of a joined scalar also removes what was joined to it.
    fn compose(&self, changes: &mut Vec<Change>, pairs: &Compositions) {
        let mut starter: Option<usize> = None;
        let (mut kept, mut before) = (0, 0);
        for at in 0..changes.len() {
            let (code, change) = changes[at];
            let class = self.classes.get(code);
            if let Some(place) = starter {
                if place + 1 == kept || before < class {
                    if let Some(made) = pair(changes[place].0, code, pairs) {
                        changes[place] = (made, changes[place].1 + change - 1);
                        continue;
                    }
                }
            }
            if class == 0 {
                starter = Some(kept);
            }
            changes[kept] = (code, change);
            kept += 1;
            before = class;
        }
        changes.truncate(kept);
    }
}

fn sort_marks(stretch: &mut Stretch) {
    stretch.marks.sort_by_key(|&(class, _)| class);
    stretch.changes.extend(stretch.marks.drain(..).map(|(_, change)| change));
}

fn pair(left: u32, right: u32, pairs: &Compositions) -> Option<u32> {
    if (L..L + LS).contains(&left) && (V..V + VS).contains(&right) {
        return Some(S + ((left - L) * VS + right - V) * TS);
    }
    let open = (S..S + SYLLABLES).contains(&left) && (left - S) % TS == 0;
    if open && (T + 1..T + TS).contains(&right) {
        return Some(left + right - T);
    }
    pairs.get(left, right)
}
