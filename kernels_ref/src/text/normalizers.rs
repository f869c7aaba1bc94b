//! Normalizers: each turns a piece into another, and keeps the alignment as the source does.

use super::aligned::{Changed, View};
use super::byte_chars::visible;
use super::charsmap::Charsmap;
use super::clusters::ClusterSets;
use super::normal_forms::Form;
use super::pattern::{Budget, Pattern, Scratch};
use super::scalars::{before, push, scalar_at, scalars};
use super::sets::ScalarSet;
use super::tables::Map;
use super::vocabulary::Vocabulary;

const SPACE: u32 = 0x20;

/// One stage; numbers name sets and patterns.
pub enum Normalizer<'a> {
    /// NFC, NFD, NFKC or NFKD.
    Form(Form<'a>),
    /// Lower case.
    Lower(Map<'a>),
    /// Scalars left out.
    Without(usize),
    /// Scalars left out, others as a space.
    Nmt(usize, usize),
    /// White space at the ends left out: left, right, the set.
    Strip(bool, bool, usize),
    /// A text in place of every match.
    Replace(usize, &'a [u8]),
    /// A text before a piece that is not empty.
    Prepend(&'a [u8]),
    /// Every byte as a visible character.
    Bytes,
    /// The four steps of BERT.
    Bert(Bert<'a>),
    /// SentencePiece's table.
    Precompiled(Charsmap<'a>, ClusterSets),
}

/// The steps of BERT that are switched on, in this order.
pub struct Bert<'a> {
    /// Scalars left out, and those that become a space.
    pub clean: Option<(usize, usize)>,
    /// Scalars put between spaces.
    pub ideographs: Option<usize>,
    /// NFD, and the marks left out after it.
    pub accents: Option<(Form<'a>, usize)>,
    /// Lower case.
    pub lower: Option<Map<'a>>,
}

/// What normalizers work with.
pub struct Tools<'t> {
    /// Sets by number.
    pub sets: &'t [ScalarSet],
    /// Patterns by number.
    pub patterns: &'t [Pattern],
    /// Tokens.
    pub vocabulary: &'t Vocabulary<'t>,
    /// How tokens are decoded, by id; none where that makes no difference.
    pub kinds: &'t [u8],
}

impl Normalizer<'_> {
    /// The normalized piece; None where it stays as it is.
    pub fn apply(&self, piece: View, tools: &Tools, scratch: &mut Scratch) -> Option<Changed> {
        let sets = tools.sets;
        match self {
            Normalizer::Form(form) => form.apply(piece),
            Normalizer::Lower(map) => lower(piece, map),
            Normalizer::Without(set) => piece.kept(|code| !sets[*set].has(code), |code| code),
            Normalizer::Nmt(removed, space) => spaced(piece, &sets[*removed], &sets[*space]),
            Normalizer::Strip(left, right, set) => strip(piece, *left, *right, &sets[*set]),
            Normalizer::Replace(pattern, content) => {
                replace(piece, &tools.patterns[*pattern], content, sets, scratch)
            }
            Normalizer::Prepend(text) => Some(piece.prefixed(text)),
            Normalizer::Bytes => Some(visible_bytes(piece)),
            Normalizer::Bert(bert) => bert.apply(piece, sets),
            Normalizer::Precompiled(map, names) => map.apply(piece, *names, sets),
        }
    }
}

fn spaced(piece: View, removed: &ScalarSet, space: &ScalarSet) -> Option<Changed> {
    let mapped = |code| if space.has(code) { SPACE } else { code };
    piece.kept(|code| !removed.has(code), mapped)
}

/// Lower case scalar by scalar: no locale, no final sigma.
fn lower(piece: View, map: &Map) -> Option<Changed> {
    piece.rewritten(|writer| {
        for (_, code) in scalars(piece.text) {
            match map.get(code) {
                None => writer.put(code, 0),
                Some(parts) => {
                    parts.enumerate().for_each(|(i, part)| writer.put(part, i32::from(i > 0)))
                }
            }
        }
    })
}

fn strip(piece: View, left: bool, right: bool, space: &ScalarSet) -> Option<Changed> {
    let text = piece.text;
    let (mut start, mut end) = (0, text.len());
    while left && start < end && space.has(scalar_at(text, start).0) {
        start += scalar_at(text, start).1;
    }
    while right && end > start && space.has(scalar_at(text, before(text, end)).0) {
        end = before(text, end);
    }
    (end - start < text.len()).then(|| Changed::copied(&piece.part(start, end)))
}

fn replace(
    piece: View,
    pattern: &Pattern,
    content: &[u8],
    sets: &[ScalarSet],
    scratch: &mut Scratch,
) -> Option<Changed> {
    let mut budget = Budget::of(piece.text);
    let mut found = Some(pattern.next(piece.text, 0, sets, &mut budget, scratch)?);
    let mut out = Changed::like(&piece);
    let mut done = 0;
    while let Some((start, end)) = found {
        out.append(&piece, done, start);
        out.replace(&piece, end, content);
        done = end;
        found = pattern.next(piece.text, done, sets, &mut budget, scratch);
    }
    out.append(&piece, done, piece.text.len());
    Some(out)
}

/// Every byte as a visible character.
pub fn visible_bytes(piece: View) -> Changed {
    let mut out = Changed::like(&piece);
    let mut shown = Vec::with_capacity(8);
    for (at, _) in scalars(piece.text) {
        let len = super::scalars::length_of(piece.text[at]);
        let end = piece.text.len().min(at + len);
        shown.clear();
        piece.text[at..end].iter().for_each(|&byte| push(&mut shown, visible(byte)));
        out.replace(&piece, end, &shown);
    }
    out
}

impl Bert<'_> {
    fn apply(&self, piece: View, sets: &[ScalarSet]) -> Option<Changed> {
        let mut made: Option<Changed> = None;
        let mut step = |next: &dyn Fn(View) -> Option<Changed>| {
            let now = made.as_ref().map_or(piece, Changed::view);
            if let Some(changed) = next(now) {
                made = Some(changed);
            }
        };
        if let Some((removed, space)) = self.clean {
            step(&|now| spaced(now, &sets[removed], &sets[space]));
        }
        if let Some(set) = self.ideographs {
            step(&|now| between_spaces(now, &sets[set]));
        }
        if let Some((form, marks)) = &self.accents {
            step(&|now| form.apply(now));
            step(&|now| now.kept(|code| !sets[*marks].has(code), |code| code));
        }
        if let Some(map) = &self.lower {
            step(&|now| lower(now, map));
        }
        made
    }
}

fn between_spaces(piece: View, ideographs: &ScalarSet) -> Option<Changed> {
    if piece.text.is_ascii() {
        return None;
    }
    piece.rewritten(|writer| {
        for (_, code) in scalars(piece.text) {
            if ideographs.has(code) {
                writer.put(SPACE, 0);
                writer.put(code, 1);
                writer.put(SPACE, 1);
            } else {
                writer.put(code, 0);
            }
        }
    })
}
