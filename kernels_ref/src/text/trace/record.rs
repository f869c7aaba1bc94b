//! Everything that a text is on its way, written down.

use super::{Place, Tracing};
use crate::error::{ensure, Code, Error, Result};
use crate::text::aligned::{Changed, View};
use crate::text::models::Part;
use crate::text::post::{put_around, PostProcessor};
use crate::text::sentencepiece::normalizer::Normalized;
use crate::text::state::{Offsets, State};
use crate::text::vocabulary::NONE;
use crate::text::Tokenizer;

/// Bytes of pieces at most, so that the memory of a trace has a bound.
const MOST_BYTES: u64 = 256 << 20;
/// Of a piece, and of a token.
const PIECE_BYTES: usize = 20;

/// Stages before the normalizers, and between them and the pre-tokenizers.
const INPUT: usize = 0;
const GIVEN: usize = 1;
const FIRST_NORMALIZER: usize = 2;

/// What was written down, as arrays; texts are ranges of `texts`.
#[derive(Default)]
pub struct Trace {
    /// Of each stage: its pointer, its kind (two numbers each), its first piece, and how many.
    pub stages: Vec<[u32; 6]>,
    /// Of each piece: its text, its bytes of the given text, and the id of a token, else `NONE`.
    pub pieces: Vec<[u32; 5]>,
    /// Of each token: its bytes of the normalized text, and 1 where it stands for no text.
    pub tokens: Vec<[u32; 3]>,
    /// What ranges are of, in UTF-8.
    pub texts: Vec<u8>,
    /// The normalized text.
    pub normalized: Vec<u8>,
}

/// One stage on its way into a trace.
struct Stage {
    names: [Offsets; 2],
    pieces: Vec<[u32; 5]>,
}

/// A token beside its id and offsets.
#[derive(Clone, Copy)]
struct Noted {
    text: Offsets,
    normal: Offsets,
    inserted: bool,
}

/// Writes down one text.
pub struct Recorder<'r> {
    given: &'r [u8],
    normalizers: usize,
    stages: Vec<Stage>,
    texts: Vec<u8>,
    /// The normalized text, each byte with its origin in the given one.
    normalized: Changed,
    tokens: Vec<Noted>,
    /// Bytes that were to be written down; beyond the bound none is.
    size: u64,
}

impl<'r> Recorder<'r> {
    /// Before the first stage.
    pub fn new(owner: &Tokenizer, given: &'r [u8]) -> Recorder<'r> {
        let normalizers = owner.normalizers.len();
        let mut recorder = Recorder {
            given,
            normalizers,
            stages: Vec::new(),
            texts: Vec::new(),
            normalized: Changed::default(),
            tokens: Vec::new(),
            size: 0,
        };
        recorder.stage([b"/", b"input"]);
        if owner.sentence.is_none() {
            recorder.stage([b"/added_tokens", b"given text"]);
            let (before, behind) = owner.names.stages.split_at(normalizers);
            before.iter().for_each(|&names| recorder.stage(names));
            recorder.stage([b"/added_tokens", b"normalized text"]);
            behind[..owner.pre_tokenizers.len()].iter().for_each(|&names| recorder.stage(names));
        }
        if !given.is_empty() {
            let text = recorder.text(given);
            recorder.note(INPUT, text, [0, given.len() as u32], NONE);
        }
        recorder
    }

    fn stage(&mut self, names: [&[u8]; 2]) {
        let names = names.map(|name| self.text(name));
        self.stages.push(Stage { names, pieces: Vec::new() });
    }

    /// Whether so many bytes may be written down.
    fn take(&mut self, bytes: usize) -> bool {
        self.size += bytes as u64;
        self.size <= MOST_BYTES
    }

    fn text(&mut self, text: &[u8]) -> Offsets {
        let start = self.texts.len() as u32;
        if self.take(text.len()) {
            self.texts.extend_from_slice(text);
        }
        [start, self.texts.len() as u32]
    }

    fn note(&mut self, stage: usize, text: Offsets, span: Offsets, id: u32) {
        if self.take(PIECE_BYTES) {
            self.stages[stage].pieces.push([text[0], text[1], span[0], span[1], id]);
        }
    }

    /// A token of the text's own.
    fn own(&mut self, text: Offsets, normal: Offsets) {
        if self.take(PIECE_BYTES) {
            self.tokens.push(Noted { text, normal, inserted: false });
        }
    }

    fn number(&self, place: Place) -> usize {
        match place {
            Place::Given => GIVEN,
            Place::Normalizer(number) => FIRST_NORMALIZER + number,
            Place::Normalized => FIRST_NORMALIZER + self.normalizers,
            Place::PreTokenizer(number) => FIRST_NORMALIZER + self.normalizers + 1 + number,
        }
    }

    /// The bytes of the normalized text that a part of a piece behind the normalizers came from.
    fn normal(&self, piece: &View, start: usize, end: usize) -> Offsets {
        let (first, last) = piece.origin(start, end, &self.normalized.text);
        [first, last]
    }

    /// The tokens as they are now.
    fn stage_of_tokens(&mut self, names: [&[u8]; 2], state: &State) {
        self.stage(names);
        let stage = self.stages.len() - 1;
        for (i, (&id, &span)) in state.ids.iter().zip(&state.offsets).enumerate() {
            self.note(stage, self.tokens[i].text, span, id);
        }
    }

    /// The arrays.
    pub fn finish(self) -> Result<Trace> {
        self.require_room()?;
        let (texts, normalized) = (self.texts, self.normalized.text);
        let mut trace = Trace { texts, normalized, ..Trace::default() };
        for Stage { names: [pointer, kind], pieces } in self.stages {
            let (first, count) = (trace.pieces.len() as u32, pieces.len() as u32);
            trace.stages.push([pointer[0], pointer[1], kind[0], kind[1], first, count]);
            trace.pieces.extend(pieces);
        }
        let row = |one: Noted| [one.normal[0], one.normal[1], u32::from(one.inserted)];
        trace.tokens = self.tokens.into_iter().map(row).collect();
        Ok(trace)
    }
}

impl Tracing for Recorder<'_> {
    const NOTES: bool = true;

    fn piece(&mut self, place: Place, piece: &View) {
        if !piece.text.is_empty() {
            let span = self.origin(place, piece, 0, piece.text.len(), self.given);
            let text = self.text(piece.text);
            self.note(self.number(place), text, span, NONE);
        }
    }

    fn normalized<'v>(&mut self, piece: View<'v>) -> View<'v> {
        let start = self.normalized.text.len();
        self.normalized.append(&piece, 0, piece.text.len());
        View::lying(piece.text, start)
    }

    fn added(&mut self, place: Place, piece: &View, id: u32) {
        let piece = if place == Place::Given { self.normalized(*piece) } else { *piece };
        let length = piece.text.len();
        let span = self.origin(Place::Normalized, &piece, 0, length, self.given);
        let text = self.text(piece.text);
        for stage in self.number(place)..self.stages.len() {
            self.note(stage, text, span, id);
        }
        let normal = self.normal(&piece, 0, length);
        self.own(text, normal);
    }

    fn token(&mut self, owner: &Tokenizer, piece: &View, part: &Part) {
        let (start, end) = (part.start as usize, part.end as usize);
        let mut written = Vec::new();
        let text = if owner.model.writes_pieces(part.id) {
            self.text(&piece.text[start..end])
        } else {
            owner.vocabulary.text_of(part.id, &mut written);
            self.text(&written)
        };
        let normal = self.normal(piece, start, end);
        self.own(text, normal);
    }

    fn whole(&mut self, owner: &Tokenizer, text: &Normalized, parts: &[Part]) {
        self.stage(owner.names.stages[0]);
        let ends = [text.origins.first(), text.origins.last()];
        let written = self.text(&text.text);
        self.note(INPUT + 1, written, ends.map(|end| end.copied().unwrap_or(0)), NONE);
        self.stage([b"/pieces", owner.names.model.as_bytes()]);
        for part in parts {
            let (start, end) = (part.start as usize, part.end as usize);
            let written = self.text(&text.text[start..end]);
            self.note(INPUT + 2, written, [text.origins[start], text.origins[end]], part.id);
        }
        self.normalized.text.extend_from_slice(&text.text);
    }

    fn part(&mut self, text: &[u8], normal: Offsets, goes_on: bool) {
        let text = self.text(text);
        match self.tokens.last_mut().filter(|_| goes_on) {
            // Nothing was written down between the two.
            Some(last) => {
                last.text[1] = text[1];
                last.normal[1] = normal[1];
            }
            None => self.own(text, normal),
        }
    }

    fn origin(&self, place: Place, piece: &View, start: usize, end: usize, _: &[u8]) -> Offsets {
        if matches!(place, Place::Given | Place::Normalizer(_)) {
            let (first, last) = piece.origin(start, end, self.given);
            return [first, last];
        }
        let [first, last] = self.normal(piece, start, end);
        let (first, last) =
            self.normalized.view().origin(first as usize, last as usize, self.given);
        [first, last]
    }

    fn is_first(&self, piece: &View) -> bool {
        let [first, last] = self.normal(piece, 0, piece.text.len());
        self.normalized.view().part(first as usize, last as usize).is_first()
    }

    fn require_room(&self) -> Result<()> {
        ensure(self.size <= MOST_BYTES, || {
            let detail = format!("{} bytes of stages, at most {}", self.size, MOST_BYTES);
            Error::new(Code::TextTooLong, "text", detail)
        })
    }

    fn model(&mut self, owner: &Tokenizer, state: &State) {
        match owner.sentence {
            None => self.stage_of_tokens([b"/model", owner.names.model.as_bytes()], state),
            Some(_) => {
                self.stage_of_tokens([b"/trainer_spec/byte_fallback", b"unknown pieces"], state)
            }
        }
    }

    fn post_processor(&mut self, owner: &Tokenizer, number: usize, state: &State, insert: bool) {
        if let PostProcessor::Template(pieces) = &owner.post_processors[number] {
            let wanted = pieces.iter().copied().filter(|piece| insert || piece.is_none());
            let own = std::mem::take(&mut self.tokens);
            let put = |text| Noted { text, normal: [0, 0], inserted: true };
            self.tokens = put_around(wanted, &own, |piece| put(self.text(piece.text)));
        }
        let before = self.normalizers + owner.pre_tokenizers.len();
        self.stage_of_tokens(owner.names.stages[before + number], state);
    }
}
