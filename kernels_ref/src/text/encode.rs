//! One text on its way through the stages, piece by piece.

use super::added::{Borders, Found, Matcher, Stretches};
use super::aligned::{Changed, View};
use super::bounds::{require_content, require_text};
use super::cache::{Kept, LONGEST};
use super::models::{Model, Room};
use super::partition::partition;
use super::scalars::scalars;
use super::state::{Offsets, Out, Request, State};
use super::trace::{Place, Recorder, Trace, Tracing, Untraced};
use super::Tokenizer;
use crate::error::Result;

/// Pieces behind the normalizers have their origins in one way, whatever cut them.
const BEHIND: Place = Place::Normalized;

impl Tokenizer<'_> {
    /// The tokens of a text, written into `state`; `insert` allows what post-processors put around.
    /// After an error the state holds no token.
    pub fn encode(&self, request: &Request, insert: bool, state: &mut State) -> Result<()> {
        self.encode_with(request, insert, state, &mut Untraced)
    }

    /// The same, and what the text is after each stage.
    pub fn traced(&self, request: &Request, insert: bool, state: &mut State) -> Result<Trace> {
        let mut recorder = Recorder::new(self, request.text);
        let done = self.encode_with(request, insert, state, &mut recorder);
        let done = done.and_then(|()| recorder.finish());
        if done.is_err() {
            state.clear();
        }
        done
    }

    fn encode_with<T: Tracing>(
        &self,
        request: &Request,
        insert: bool,
        state: &mut State,
        trace: &mut T,
    ) -> Result<()> {
        state.clear();
        state.edges.resize_with(self.trimmings.len(), Vec::new);
        let text = request.text;
        require_text(text)?;
        require_content(text, request.content)?;
        let done = match &self.sentence {
            Some(sentence) => sentence.tokens(self, text, state, trace),
            None => self.tokens(request, state, trace),
        };
        if let Err(error) = done.and_then(|()| trace.require_room()) {
            state.clear();
            return Err(error);
        }
        trace.model(self, state);
        for (number, stage) in self.post_processors.iter().enumerate() {
            stage.apply(text, state, insert);
            trace.post_processor(self, number, state, insert);
        }
        Ok(())
    }
    /// Tokens of a text. Patterns come before the model: where both refuse, a pattern does.
    fn tokens<T: Tracing>(
        &self,
        request: &Request,
        state: &mut State,
        trace: &mut T,
    ) -> Result<()> {
        let done = Run::tokens(self, request, state, trace);
        state.search.checked()?;
        if done.is_err() {
            // The pieces behind the one that the model refused were not cut yet.
            state.cuts_only = true;
            let cut = Run::tokens(self, request, state, &mut Untraced);
            state.cuts_only = false;
            cut.and_then(|()| state.search.checked())?;
        }
        done
    }
}

/// One text on its way.
pub struct Run<'r, 'a, T> {
    pub(super) owner: &'r Tokenizer<'a>,
    request: &'r Request<'r>,
    pub(super) state: &'r mut State,
    pub(super) trace: &'r mut T,
}

impl<'r, 'a, T: Tracing> Run<'r, 'a, T> {
    /// The tokens of a text, before any post-processor.
    pub fn tokens(
        owner: &'r Tokenizer<'a>,
        request: &'r Request<'r>,
        state: &'r mut State,
        trace: &'r mut T,
    ) -> Result<()> {
        let mut run = Run { owner, request, state, trace };
        run.matched(View::whole(request.text), Place::Given, |run, piece| run.normalized(piece))
    }

    /// Added tokens of one group apart; `other` takes what lies between them.
    fn matched(
        &mut self,
        piece: View,
        place: Place,
        mut other: impl FnMut(&mut Self, View) -> Result<()>,
    ) -> Result<()> {
        if piece.text.is_empty() {
            return Ok(());
        }
        let owner = self.owner;
        let matcher: &Matcher =
            if place == Place::Given { &owner.given } else { &owner.normalized };
        let mut between = |run: &mut Self, start, end| {
            let piece = piece.part(start, end).rebased();
            run.trace.piece(place, &piece);
            other(run, piece)
        };
        let borders = Borders {
            word: owner.word.map(|set| &owner.sets[set]),
            space: owner.space.map(|set| &owner.sets[set]),
        };
        let mut stretches = Stretches::new(matcher, &owner.added, borders, piece.text);
        let content = !self.request.content.is_empty();
        if owner.partitioned {
            let found = partition(matcher, &owner.added, piece.text, |number, start, end| {
                let special = content && owner.added[number].special;
                !(special && self.is_content(place, &piece, start, end))
            });
            return found.into_iter().try_for_each(|found| match found {
                (start, end, None) => between(self, start, end),
                found => {
                    self.added(place, &piece, found);
                    Ok(())
                }
            });
        }
        while let Some(found) = stretches.next(|number, start, end| {
            let special = content && owner.added[number].special;
            !(special && self.is_content(place, &piece, start, end))
        }) {
            match found {
                (start, end, None) => between(self, start, end)?,
                (start, end, Some(_)) if start == end => {}
                found => self.added(place, &piece, found),
            }
        }
        Ok(())
    }

    fn added(&mut self, place: Place, piece: &View, (start, end, number): Found) {
        let owner = self.owner;
        if let Some(token) = number.and_then(|number| owner.added.get(number)) {
            self.state.ids.push(token.id);
            self.state.offsets.push(self.origin(place, piece, start, end));
            self.trace.added(place, &piece.part(start, end), token.id);
            for (trimming, edges) in owner.trimmings.iter().zip(&mut self.state.edges) {
                edges.push(trimming.of_text(&piece.text[start..end], &owner.sets));
            }
        }
    }

    fn origin(&self, place: Place, piece: &View, start: usize, end: usize) -> Offsets {
        self.trace.origin(place, piece, start, end, self.request.text)
    }

    fn is_content(&self, place: Place, piece: &View, start: usize, end: usize) -> bool {
        let [first, last] = self.origin(place, piece, start, end);
        let content = self.request.content;
        let at = content.partition_point(|span| span[0] < last);
        at > 0 && first < content[at - 1][1]
    }

    fn normalized(&mut self, piece: View) -> Result<()> {
        let owner = self.owner;
        let mut made: Option<Changed> = None;
        for (number, stage) in owner.normalizers.iter().enumerate() {
            let now = made.as_ref().map_or(piece, Changed::view).rebased();
            if now.text.is_empty() {
                return Ok(());
            }
            if let Some(changed) = stage.apply(now, &owner.tools(), &mut self.state.search) {
                made = Some(changed);
            }
            let now = made.as_ref().map_or(piece, Changed::view);
            self.trace.piece(Place::Normalizer(number), &now);
        }
        let piece = self.trace.normalized(made.as_ref().map_or(piece, Changed::view));
        self.matched(piece, Place::Normalized, |run, piece| run.cut(0, piece))
    }

    /// The tokens of one piece. A long one is cut where that changes nothing.
    pub(super) fn model(&mut self, piece: View) -> Result<()> {
        if self.state.cuts_only {
            return Ok(());
        }
        let owner = self.owner;
        let content = !self.request.content.is_empty()
            && self.is_content(BEHIND, &piece, 0, piece.text.len());
        let bpe = match &owner.model {
            Model::Bpe(bpe) if piece.text.len() > LONGEST && bpe.borders.is_some() => bpe,
            _ => return self.tokens_of(piece, content),
        };
        let hidden = content.then_some(&owner.hidden);
        let (mut start, mut last) = (0, None);
        for (at, code) in scalars(piece.text) {
            if last.map_or(false, |before| bpe.parts_between(before, code, hidden)) {
                self.tokens_of(piece.part(start, at), content)?;
                start = at;
            }
            last = Some(code);
        }
        self.tokens_of(piece.part(start, piece.text.len()), content)
    }

    /// The tokens of one piece, from the pieces met before or from the model.
    fn tokens_of(&mut self, piece: View, content: bool) -> Result<()> {
        self.trace.require_room()?;
        let cache = &self.state.caches[usize::from(content)];
        let hash = match cache.find(piece.text) {
            Kept::Tokens(start, end) => {
                let State { ids, offsets, edges, caches, .. } = &mut *self.state;
                let parts = caches[usize::from(content)].tokens(start, end);
                let mut out = Out { ids, offsets, edges, trace: self.trace };
                out.push(self.owner, &piece, parts, self.request.text);
                return Ok(());
            }
            Kept::New(hash) => Some(hash),
            Kept::Long => None,
        };
        let owner = self.owner;
        let State { ids, offsets, edges, model, parts, caches, .. } = &mut *self.state;
        parts.clear();
        let hidden = content.then_some(&owner.hidden);
        let room = Room { vocabulary: &owner.vocabulary, hidden, scratch: model };
        owner.model.tokenize(piece.text, room, parts)?;
        if let Some(hash) = hash {
            caches[usize::from(content)].keep(hash, piece.text, parts);
        }
        let mut out = Out { ids, offsets, edges, trace: self.trace };
        out.push(owner, &piece, parts, self.request.text);
        if parts.capacity() > 1 << 16 {
            *parts = Vec::new();
        }
        Ok(())
    }
}
