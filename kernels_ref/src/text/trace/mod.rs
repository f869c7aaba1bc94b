//! What a text is after each stage, told by the run that encodes it.
//!
//! The run is compiled twice: for `Untraced`, whose calls are empty, and for `Recorder`. Behind the
//! normalizers a recorded piece lies in the normalized text, whose bytes know where they came from
//! in the given one, so that tokens have offsets in both.

mod record;

pub use self::record::{Recorder, Trace};
use super::aligned::View;
use super::models::Part;
use super::sentencepiece::normalizer::Normalized;
use super::state::{Offsets, State};
use super::Tokenizer;
use crate::error::Result;

/// Where a piece is noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Behind the added tokens of the given text.
    Given,
    /// Behind a normalizer.
    Normalizer(usize),
    /// Behind the added tokens of the normalized text.
    Normalized,
    /// Behind a pre-tokenizer.
    PreTokenizer(usize),
}

/// Told of every piece, from left to right at each place.
pub trait Tracing {
    /// Whether anything is noted.
    const NOTES: bool;

    /// A piece at a place.
    fn piece(&mut self, place: Place, piece: &View);

    /// A piece behind all normalizers, as it goes on.
    fn normalized<'v>(&mut self, piece: View<'v>) -> View<'v>;

    /// A piece that is an added token, found at a place, which no later stage changes.
    fn added(&mut self, place: Place, piece: &View, id: u32);

    /// A token that the model made of a part of a piece.
    fn token(&mut self, owner: &Tokenizer, piece: &View, part: &Part);

    /// A text that is normalized and cut as a whole, and its parts.
    fn whole(&mut self, owner: &Tokenizer, text: &Normalized, parts: &[Part]);

    /// A token of such a text: how it is written, where it lies in the normalized text, and whether
    /// the token before it goes on with it.
    fn part(&mut self, text: &[u8], normal: Offsets, goes_on: bool);

    /// The bytes of the given text that a part of a piece at a place came from.
    fn origin(&self, place: Place, piece: &View, start: usize, end: usize, given: &[u8])
        -> Offsets;

    /// Whether a piece behind the normalizers begins the given text.
    fn is_first(&self, piece: &View) -> bool;

    /// Refuse a text whose stages take more memory than a trace may.
    fn require_room(&self) -> Result<()>;

    /// All tokens behind the model.
    fn model(&mut self, owner: &Tokenizer, state: &State);

    /// All tokens behind a post-processor.
    fn post_processor(&mut self, owner: &Tokenizer, number: usize, state: &State, insert: bool);
}

/// Notes nothing.
pub struct Untraced;

impl Tracing for Untraced {
    const NOTES: bool = false;

    #[inline]
    fn piece(&mut self, _: Place, _: &View) {}

    #[inline]
    fn normalized<'v>(&mut self, piece: View<'v>) -> View<'v> {
        piece
    }

    #[inline]
    fn added(&mut self, _: Place, _: &View, _: u32) {}

    #[inline]
    fn token(&mut self, _: &Tokenizer, _: &View, _: &Part) {}

    #[inline]
    fn whole(&mut self, _: &Tokenizer, _: &Normalized, _: &[Part]) {}

    #[inline]
    fn part(&mut self, _: &[u8], _: Offsets, _: bool) {}

    #[inline]
    fn origin(&self, _: Place, piece: &View, start: usize, end: usize, given: &[u8]) -> Offsets {
        let (first, last) = piece.origin(start, end, given);
        [first, last]
    }

    #[inline]
    fn is_first(&self, piece: &View) -> bool {
        piece.is_first()
    }

    #[inline]
    fn require_room(&self) -> Result<()> {
        Ok(())
    }

    #[inline]
    fn model(&mut self, _: &Tokenizer, _: &State) {}

    #[inline]
    fn post_processor(&mut self, _: &Tokenizer, _: usize, _: &State, _: bool) {}
}
