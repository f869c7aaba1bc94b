//! Post-processors: tokens put around the text's own, and white space trimmed off offsets.

use super::byte_chars::visible;
use super::models::Model;
use super::scalars::{before, continues, length_of, scalars};
use super::sets::ScalarSet;
use super::state::{Offsets, State};
use super::vocabulary::Vocabulary;

/// White space scalars at the beginning and at the end of a token.
pub type Edges = (u16, u16);

/// A token put around, and how it is written.
#[derive(Clone, Copy)]
pub struct Inserted<'a> {
    /// The token.
    pub id: u32,
    /// Its text; it is shown, and does nothing.
    pub text: &'a [u8],
}

/// One stage.
pub enum PostProcessor<'a> {
    /// Spaces of a token left out of its offsets: whether one was put in front, and which edges.
    Trim(bool, usize),
    /// Tokens of its own; None is the place of the text's own.
    Template(Vec<Option<Inserted<'a>>>),
}

/// What trimming needs to know of tokens.
pub struct Trimming {
    set: usize,
    /// Edges by id; only those of tokens that have any.
    known: std::collections::HashMap<u32, Edges>,
    /// An unknown token that is written as the piece of text that it stands for.
    by_text: Option<u32>,
}

impl Trimming {
    /// Look through all tokens once.
    pub fn new(set: usize, sets: &[ScalarSet], vocabulary: &Vocabulary, model: &Model) -> Trimming {
        let mut known = std::collections::HashMap::new();
        vocabulary.each(|token, id| {
            let edges = edges(token, &sets[set]);
            if edges != (0, 0) {
                known.insert(id, edges);
            }
        });
        let by_text = if matches!(model, Model::Unigram(_)) { model.unknown_id() } else { None };
        Trimming { set, known, by_text }
    }

    /// Of a text that is a token.
    pub fn of_text(&self, text: &[u8], sets: &[ScalarSet]) -> Edges {
        edges(text, &sets[self.set])
    }

    /// Of a token of the model.
    #[inline]
    pub fn of_token(&self, id: u32, text: &[u8], sets: &[ScalarSet]) -> Edges {
        if self.by_text == Some(id) {
            return self.of_text(text, sets);
        }
        self.known.get(&id).copied().unwrap_or((0, 0))
    }
}

fn edges(text: &[u8], space: &ScalarSet) -> Edges {
    let is_space = |code| code == visible(b' ') || space.has(code);
    let leading = scalars(text).take_while(|&(_, code)| is_space(code)).count();
    let (mut trailing, mut at) = (0, text.len());
    while at > 0 {
        at = before(text, at);
        if !is_space(super::scalars::scalar_at(text, at).0) {
            break;
        }
        trailing += 1;
    }
    (leading.min(0xffff) as u16, trailing.min(0xffff) as u16)
}

impl PostProcessor<'_> {
    /// Change the tokens of a text; `insert` allows tokens of the stage's own.
    pub fn apply(&self, given: &[u8], state: &mut State, insert: bool) {
        match self {
            PostProcessor::Trim(prefix_space, number) => {
                let edges = &state.edges[*number];
                for (i, (span, edges)) in state.offsets.iter_mut().zip(edges).enumerate() {
                    trim(given, span, *edges, *prefix_space, i == 0);
                }
            }
            PostProcessor::Template(pieces) => template(pieces, state, insert),
        }
    }
}

/// Move both ends inwards by so many scalars of the given text.
fn trim(given: &[u8], span: &mut Offsets, (leading, trailing): Edges, prefix: bool, first: bool) {
    let [mut start, mut end] = span.map(|place| place as usize);
    let stays = (first || start == 0) && prefix && leading == 1;
    for _ in 0..if stays { 0 } else { leading } {
        if start < end {
            start += length_of(given[start]);
        }
    }
    start = start.min(end);
    if let Some(back) = stepped_back(given, end, trailing) {
        end = back.max(start);
    }
    *span = [start as u32, end as u32];
}

/// So many scalars before a place; None where there are not that many.
fn stepped_back(given: &[u8], from: usize, count: u16) -> Option<usize> {
    let mut at = from.min(given.len());
    for _ in 0..count {
        if at == 0 {
            return None;
        }
        at -= 1;
        while at > 0 && continues(given[at]) {
            at -= 1;
        }
    }
    Some(at)
}

fn template(pieces: &[Option<Inserted>], state: &mut State, insert: bool) {
    // A token that stands for no text has no offsets to trim.
    let wanted = || pieces.iter().copied().filter(|piece| insert || piece.is_none());
    state.ids = put_around(wanted(), &state.ids, |piece| piece.id);
    state.offsets = put_around(wanted(), &state.offsets, |_| [0, 0]);
    for edges in &mut state.edges {
        *edges = put_around(wanted(), edges, |_| (0, 0));
    }
}

/// The values of a text's own tokens at their places, and one for each token put around.
pub fn put_around<'a, T: Copy>(
    pieces: impl Iterator<Item = Option<Inserted<'a>>>,
    own: &[T],
    mut value: impl FnMut(Inserted<'a>) -> T,
) -> Vec<T> {
    let mut out = Vec::with_capacity(own.len() + 2);
    for piece in pieces {
        match piece {
            None => out.extend_from_slice(own),
            Some(piece) => out.push(value(piece)),
        }
    }
    out
}
