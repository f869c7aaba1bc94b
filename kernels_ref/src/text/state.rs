//! What a text becomes: ids, offsets, and memory that is kept between texts.

use super::aligned::View;
use super::cache::Cache;
use super::models::{self, Part};
use super::pattern;
use super::post::Edges;
use super::trace::{Place, Tracing};
use super::Tokenizer;

/// First and one past the last byte of the given text.
pub type Offsets = [u32; 2];

/// What a text became, and memory that is kept between texts.
#[derive(Default)]
pub struct State {
    /// Token ids.
    pub ids: Vec<u32>,
    /// Offsets of each, in bytes of the given text.
    pub offsets: Vec<Offsets>,
    /// White space at the ends of each token, for each trimming that asks for it.
    pub edges: Vec<Vec<Edges>>,
    pub(super) search: pattern::Scratch,
    /// Pieces are cut, and no tokens made of them.
    pub(super) cuts_only: bool,
    pub(super) model: models::Scratch,
    pub(super) parts: Vec<Part>,
    /// For templates, and for content.
    pub(super) caches: [Cache; 2],
}

impl State {
    /// No token is left; memory is kept.
    pub fn clear(&mut self) {
        self.ids.clear();
        self.offsets.clear();
        self.edges.iter_mut().for_each(Vec::clear);
    }
}

/// A text and what is asked for.
pub struct Request<'t> {
    /// UTF-8.
    pub text: &'t [u8],
    /// Stretches that never yield a control token: disjoint, ascending, apart.
    pub content: &'t [Offsets],
}

/// Where tokens go.
pub struct Out<'o, T> {
    /// Ids.
    pub ids: &'o mut Vec<u32>,
    /// Offsets of each.
    pub offsets: &'o mut Vec<Offsets>,
    /// Edges of each, for each trimming.
    pub edges: &'o mut [Vec<Edges>],
    /// Who is told of them.
    pub trace: &'o mut T,
}

impl<T: Tracing> Out<'_, T> {
    /// The tokens of a piece.
    #[inline]
    pub fn push(&mut self, owner: &Tokenizer, piece: &View, parts: &[Part], given: &[u8]) {
        for part in parts {
            let (start, end) = (part.start as usize, part.end as usize);
            self.ids.push(part.id);
            self.offsets.push(self.trace.origin(Place::Normalized, piece, start, end, given));
            self.trace.token(owner, piece, part);
            for (trimming, edges) in owner.trimmings.iter().zip(&mut *self.edges) {
                edges.push(trimming.of_token(part.id, &piece.text[start..end], &owner.sets));
            }
        }
    }
}
