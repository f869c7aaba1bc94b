//! One text on its way through the stages, piece by piece.

use super::added::{Borders, Found, Matcher, Stretches};
use super::aligned::{Changed, View};
use super::cache::{Kept, LONGEST};
use super::models::{Model, Room};
use super::partition::partition;
use super::scalars::scalars;
use super::state::{Out, Request, State};
use super::Tokenizer;
use crate::error::Result;

/// One text on its way.
pub struct Run<'r, 'a> {
    pub(super) owner: &'r Tokenizer<'a>,
    request: &'r Request<'r>,
    pub(super) state: &'r mut State,
}

impl<'r, 'a> Run<'r, 'a> {
    /// The tokens of a text, before any post-processor.
    pub fn tokens(
        owner: &'r Tokenizer<'a>,
        request: &'r Request<'r>,
        state: &'r mut State,
    ) -> Result<()> {
        let mut run = Run { owner, request, state };
        run.matched(View::whole(request.text), &owner.given, |run, piece| run.normalized(piece))
    }

    /// Added tokens of one group apart; `other` takes what lies between them.
    fn matched(
        &mut self,
        piece: View,
        matcher: &Matcher,
        mut other: impl FnMut(&mut Self, View) -> Result<()>,
    ) -> Result<()> {
        if piece.text.is_empty() {
            return Ok(());
        }
        let owner = self.owner;
        let borders = Borders {
            word: owner.word.map(|set| &owner.sets[set]),
            space: owner.space.map(|set| &owner.sets[set]),
        };
        let mut stretches = Stretches::new(matcher, &owner.added, borders, piece.text);
        let content = !self.request.content.is_empty();
        if owner.partitioned {
            let found = partition(matcher, &owner.added, piece.text, |number, start, end| {
                !(content && owner.added[number].special && self.is_content(&piece, start, end))
            });
            return found.into_iter().try_for_each(|found| match found {
                (start, end, None) => other(self, piece.part(start, end).rebased()),
                found => {
                    self.added(&piece, found);
                    Ok(())
                }
            });
        }
        while let Some(found) = stretches.next(|number, start, end| {
            !(content && owner.added[number].special && self.is_content(&piece, start, end))
        }) {
            match found {
                (start, end, None) => other(self, piece.part(start, end).rebased())?,
                (start, end, Some(_)) if start == end => {}
                found => self.added(&piece, found),
            }
        }
        Ok(())
    }

    fn added(&mut self, piece: &View, (start, end, number): Found) {
        let owner = self.owner;
        if let Some(token) = number.and_then(|number| owner.added.get(number)) {
            let (first, last) = piece.origin(start, end, self.request.text);
            self.state.ids.push(token.id);
            self.state.offsets.push([first, last]);
            for (trimming, edges) in owner.trimmings.iter().zip(&mut self.state.edges) {
                edges.push(trimming.of_text(&piece.text[start..end], &owner.sets));
            }
        }
    }

    fn is_content(&self, piece: &View, start: usize, end: usize) -> bool {
        let (first, last) = piece.origin(start, end, self.request.text);
        let content = self.request.content;
        let at = content.partition_point(|span| span[0] < last);
        at > 0 && first < content[at - 1][1]
    }

    fn normalized(&mut self, piece: View) -> Result<()> {
        let owner = self.owner;
        let mut made: Option<Changed> = None;
        for stage in &owner.normalizers {
            let now = made.as_ref().map_or(piece, Changed::view).rebased();
            if now.text.is_empty() {
                return Ok(());
            }
            if let Some(changed) = stage.apply(now, &owner.tools(), &mut self.state.search) {
                made = Some(changed);
            }
        }
        let piece = made.as_ref().map_or(piece, Changed::view);
        self.matched(piece, &owner.normalized, |run, piece| run.cut(0, piece))
    }

    /// The tokens of one piece. A long one is cut where that changes nothing.
    pub(super) fn model(&mut self, piece: View) -> Result<()> {
        let owner = self.owner;
        let content =
            !self.request.content.is_empty() && self.is_content(&piece, 0, piece.text.len());
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
        let cache = &self.state.caches[usize::from(content)];
        let hash = match cache.find(piece.text) {
            Kept::Tokens(start, end) => {
                let State { ids, offsets, edges, caches, .. } = &mut *self.state;
                let parts = caches[usize::from(content)].tokens(start, end);
                let mut out = Out { ids, offsets, edges };
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
        Out { ids, offsets, edges }.push(owner, &piece, parts, self.request.text);
        if parts.capacity() > 1 << 16 {
            *parts = Vec::new();
        }
        Ok(())
    }
}
