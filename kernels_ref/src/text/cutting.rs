//! Cutting: one piece through the pre-tokenizers, each cut going on by itself.

use super::aligned::{Changed, View};
use super::encode::Run;
use super::normalizers::visible_bytes;
use super::pre_tokenizers::{Metaspace, PreTokenizer, Step, WordCuts};
use super::scalars::{scalar_at, scalars};
use super::splitting::{Behaviour, Cuts, Groups};
use super::tables::Map;
use super::trace::{Place, Tracing};
use crate::error::Result;

/// Stands before every word of a vocabulary of words.
const MARK: u32 = 0x2581;

impl<T: Tracing> Run<'_, '_, T> {
    /// The pre-tokenizers from `stage` on.
    pub(super) fn cut(&mut self, stage: usize, piece: View) -> Result<()> {
        let owner = self.owner;
        if piece.text.is_empty() {
            return Ok(());
        }
        if let Some(before) = stage.checked_sub(1).filter(|_| T::NOTES) {
            self.trace.piece(Place::PreTokenizer(before), &piece);
        }
        match owner.pre_tokenizers.get(stage) {
            None => self.model(piece),
            Some(PreTokenizer::Split { pattern, behaviour, invert }) => {
                let pattern = &owner.patterns[*pattern];
                let cuts = Cuts::new(pattern, *behaviour, *invert, piece.text, &owner.sets);
                self.pieces(stage, piece, cuts)
            }
            Some(PreTokenizer::Each { pattern, behaviour }) => {
                let cuts = Cuts::new(pattern, *behaviour, false, piece.text, &owner.sets);
                self.pieces(stage, piece, cuts)
            }
            Some(PreTokenizer::ByteLevel { space, pattern }) => {
                self.byte_level(stage, *space, *pattern, piece)
            }
            Some(PreTokenizer::Metaspace(one)) => self.metaspace(stage, one, piece),
            Some(PreTokenizer::Fixed(length)) => self.fixed(stage, *length, piece),
            Some(PreTokenizer::Scripts(runs)) => {
                let mut cut = None;
                let (mut at, mut now) = (0, 0);
                while at < piece.text.len() {
                    let (code, len) = scalar_at(piece.text, at);
                    let group = runs.get(code);
                    if group != 0 && group != now {
                        if let Some(start) = cut.replace(at) {
                            self.cut(stage + 1, piece.part(start, at))?;
                        }
                        now = group;
                    }
                    at += len;
                }
                // What has no script at the beginning of a piece is lost, as in the source.
                cut.map_or(Ok(()), |start| self.cut(stage + 1, piece.part(start, at)))
            }
            Some(PreTokenizer::Steps(steps)) => self.steps(stage, steps, piece),
            Some(PreTokenizer::Words(words)) => self.words(stage, words, piece),
        }
    }

    fn pieces(&mut self, stage: usize, piece: View, mut cuts: Cuts) -> Result<()> {
        while let Some((start, end)) = cuts.next(&mut self.state.search) {
            self.cut(stage + 1, piece.part(start, end))?;
        }
        Ok(())
    }

    /// The steps of a cutting, each within what the one before left.
    fn steps(&mut self, stage: usize, steps: &[Step], piece: View) -> Result<()> {
        let owner = self.owner;
        let (step, rest) = match steps.split_first() {
            Some(found) => found,
            None => return self.cut(stage + 1, piece),
        };
        match *step {
            Step::Pattern(pattern) => {
                let (pattern, text) = (&owner.patterns[pattern], piece.text);
                let mut cuts = Cuts::new(pattern, Behaviour::Isolated, false, text, &owner.sets);
                while let Some((start, end)) = cuts.next(&mut self.state.search) {
                    self.steps(stage, rest, piece.part(start, end))?;
                }
            }
            Step::Numbers(numbers) => {
                for (start, end) in Groups::new(piece.text, &owner.sets[numbers]) {
                    self.steps(stage, rest, piece.part(start, end))?;
                }
            }
        }
        Ok(())
    }

    /// Words of cleaned scalars, each with its mark.
    fn words(&mut self, stage: usize, words: &WordCuts, piece: View) -> Result<()> {
        let owner = self.owner;
        let letter = |map: &Option<Map>, code| map.as_ref().map_or(code, |map| map.letter(code));
        let mut word = Changed::like(&piece);
        for (at, code) in scalars(piece.text) {
            let code = letter(&words.plain, code);
            let space = owner.sets[words.space].has(code);
            if !space && owner.sets[words.lost].has(code) {
                continue;
            }
            let apart = !space && owner.sets[words.apart].has(code);
            if space || apart {
                self.word(stage, &mut word)?;
            }
            if !space {
                if word.text.is_empty() {
                    word.put(&piece, at, MARK);
                }
                word.put(&piece, at, letter(&words.lower, code));
            }
            if apart {
                self.word(stage, &mut word)?;
            }
        }
        self.word(stage, &mut word)
    }

    fn word(&mut self, stage: usize, word: &mut Changed) -> Result<()> {
        let done = self.cut(stage + 1, word.view());
        word.clear();
        done
    }

    /// Bytes as visible characters; the last stage leaves them as they are where the model can.
    fn byte_level(
        &mut self,
        stage: usize,
        space: bool,
        pattern: Option<usize>,
        piece: View,
    ) -> Result<()> {
        let owner = self.owner;
        let spaced = (space && piece.text[0] != b' ').then(|| piece.prefixed(b" "));
        let piece = spaced.as_ref().map_or(piece, Changed::view);
        let leave = |run: &mut Self, one: View| {
            if owner.plain_bytes && stage + 1 == owner.pre_tokenizers.len() {
                if T::NOTES {
                    let shown = visible_bytes(one);
                    run.trace.piece(Place::PreTokenizer(stage), &shown.view());
                }
                run.model(one)
            } else {
                run.cut(stage + 1, visible_bytes(one).view())
            }
        };
        let pattern = match pattern {
            None => return leave(self, piece),
            Some(pattern) => &owner.patterns[pattern],
        };
        let mut cuts = Cuts::new(pattern, Behaviour::Isolated, false, piece.text, &owner.sets);
        while let Some((start, end)) = cuts.next(&mut self.state.search) {
            leave(self, piece.part(start, end))?;
        }
        Ok(())
    }

    fn metaspace(&mut self, stage: usize, one: &Metaspace, piece: View) -> Result<()> {
        let mapped = piece.kept(|_| true, |code| if code == 0x20 { one.code } else { code });
        let piece = mapped.as_ref().map_or(piece, Changed::view);
        let wanted = one.always || (one.first && self.trace.is_first(&piece));
        let prefixed =
            (wanted && !piece.text.starts_with(&one.text)).then(|| piece.prefixed(&one.text));
        let piece = prefixed.as_ref().map_or(piece, Changed::view);
        if !one.cuts {
            return self.cut(stage + 1, piece);
        }
        let owner = self.owner;
        let cuts = Cuts::new(&one.pattern, one.behaviour, false, piece.text, &owner.sets);
        self.pieces(stage, piece, cuts)
    }

    fn fixed(&mut self, stage: usize, length: u32, piece: View) -> Result<()> {
        let mut at = 0;
        while at < piece.text.len() {
            let start = at;
            for _ in 0..length {
                if at < piece.text.len() {
                    at += scalar_at(piece.text, at).1;
                } else {
                    break;
                }
            }
            self.cut(stage + 1, piece.part(start, at))?;
        }
        Ok(())
    }
}
