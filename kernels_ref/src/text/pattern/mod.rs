//! Patterns: a literal, single scalars of a set, or a regular expression.

mod compile;
mod matching;
pub mod node;

use super::scalars::scalar_at;
use super::sets::ScalarSet;
pub use compile::Program;
pub use matching::Scratch;

/// What a text is searched for.
pub enum Pattern {
    /// A text that is not empty.
    Literal(Vec<u8>),
    /// Every scalar of the set with this number.
    Each(usize),
    /// A regular expression.
    Expression(Program),
}

impl Pattern {
    /// The first match at or behind a place; none is empty.
    #[inline]
    pub fn next(
        &self,
        text: &[u8],
        from: usize,
        sets: &[ScalarSet],
        scratch: &mut Scratch,
    ) -> Option<(usize, usize)> {
        match self {
            Pattern::Literal(wanted) => find(text, from, wanted),
            Pattern::Each(set) => member(text, from, &sets[*set]),
            Pattern::Expression(program) => program.search(text, from, sets, scratch),
        }
    }
}

fn find(text: &[u8], from: usize, wanted: &[u8]) -> Option<(usize, usize)> {
    let (&first, rest) = wanted.split_first()?;
    let mut at = from;
    while let Some(ahead) = text[at..].iter().position(|&byte| byte == first) {
        at += ahead + 1;
        if text[at..].starts_with(rest) {
            return Some((at - 1, at + rest.len()));
        }
    }
    None
}

fn member(text: &[u8], from: usize, set: &ScalarSet) -> Option<(usize, usize)> {
    let mut at = from;
    while at < text.len() {
        let (code, len) = scalar_at(text, at);
        if set.has(code) {
            return Some((at, at + len));
        }
        at += len;
    }
    None
}
