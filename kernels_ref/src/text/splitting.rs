//! Cutting a text at matches: what happens to the matches is the behaviour.

use super::pattern::{Budget, Pattern, Scratch};
use super::scalars::scalar_at;
use super::sets::ScalarSet;

/// What becomes of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// It is left out.
    Removed,
    /// It is a piece.
    Isolated,
    /// It ends the piece before it.
    MergedWithPrevious,
    /// It begins the piece behind it.
    MergedWithNext,
    /// Matches that touch are one piece.
    Contiguous,
}

/// A stretch of a text, and whether it is a match.
type Row = (usize, usize, bool);

/// A text as matches and what lies between them.
struct Rows<'p> {
    pattern: &'p Pattern,
    sets: &'p [ScalarSet],
    text: &'p [u8],
    budget: Budget,
    invert: bool,
    done: usize,
    found: Option<(usize, usize)>,
    over: bool,
}

impl Rows<'_> {
    /// The next row; none once a search had too few steps.
    fn next(&mut self, scratch: &mut Scratch) -> Option<Row> {
        if self.found.is_none() && !self.over {
            let (text, budget) = (self.text, &mut self.budget);
            self.found = self.pattern.next(text, self.done, self.sets, budget, scratch);
            self.over = self.found.is_none();
        }
        if scratch.is_spent() {
            return None;
        }
        let start = self.found.map_or(self.text.len(), |(start, _)| start);
        let between = (self.done, start);
        if between.0 < between.1 {
            self.done = start;
            return Some((between.0, between.1, self.invert));
        }
        let (start, end) = self.found.take()?;
        self.done = end;
        Some((start, end, !self.invert))
    }
}

/// Pieces of a text, one after the other.
pub struct Cuts<'p> {
    rows: Rows<'p>,
    behaviour: Behaviour,
    ahead: Option<Row>,
}

impl<'p> Cuts<'p> {
    /// Cut a text.
    pub fn new(
        pattern: &'p Pattern,
        behaviour: Behaviour,
        invert: bool,
        text: &'p [u8],
        sets: &'p [ScalarSet],
    ) -> Cuts<'p> {
        let budget = Budget::of(text);
        let rows = Rows { pattern, sets, text, budget, invert, done: 0, found: None, over: false };
        Cuts { rows, behaviour, ahead: None }
    }

    /// The next piece.
    #[inline]
    pub fn next(&mut self, scratch: &mut Scratch) -> Option<(usize, usize)> {
        match self.behaviour {
            Behaviour::Isolated => self.rows.next(scratch).map(|(start, end, _)| (start, end)),
            Behaviour::Removed => self.removed(scratch),
            _ => self.joined(scratch),
        }
    }

    fn removed(&mut self, scratch: &mut Scratch) -> Option<(usize, usize)> {
        loop {
            let (start, end, matched) = self.rows.next(scratch)?;
            if !matched {
                return Some((start, end));
            }
        }
    }

    fn joined(&mut self, scratch: &mut Scratch) -> Option<(usize, usize)> {
        let (start, mut end, mut matched) = match self.ahead.take() {
            Some(row) => row,
            None => self.rows.next(scratch)?,
        };
        while let Some((next_start, next_end, next)) = self.rows.next(scratch) {
            let joins = match self.behaviour {
                Behaviour::MergedWithPrevious => next && !matched,
                Behaviour::MergedWithNext => matched && !next,
                _ => next == matched,
            };
            if !joins {
                self.ahead = Some((next_start, next_end, next));
                break;
            }
            end = next_end;
            matched = next;
        }
        Some((start, end))
    }
}

/// Runs of a set cut into threes from the right; what stands before one stays with its first group.
pub struct Groups<'p> {
    text: &'p [u8],
    numbers: &'p ScalarSet,
    at: usize,
    /// Scalars of the run that are left.
    left: usize,
}

impl<'p> Groups<'p> {
    /// Cut a text.
    pub fn new(text: &'p [u8], numbers: &'p ScalarSet) -> Groups<'p> {
        Groups { text, numbers, at: 0, left: 0 }
    }

    /// Behind a scalar, if there is one that is or is not of the set.
    fn behind(&self, at: usize, number: bool) -> Option<usize> {
        let (code, len) = self.text.get(at).map(|_| scalar_at(self.text, at))?;
        (self.numbers.has(code) == number).then_some(at + len)
    }
}

impl Iterator for Groups<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        let start = self.at;
        if self.left == 0 {
            while let Some(next) = self.behind(self.at, false) {
                self.at = next;
            }
            let mut end = self.at;
            while let Some(next) = self.behind(end, true) {
                end = next;
                self.left += 1;
            }
        }
        let size = if self.left % 3 == 0 { self.left.min(3) } else { self.left % 3 };
        for _ in 0..size {
            self.at += scalar_at(self.text, self.at).1;
        }
        self.left -= size;
        (start < self.at).then_some((start, self.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threes_from_the_right() {
        let numbers = ScalarSet::new(vec![(0x30, 0x39), (0x661, 0x669)]);
        let cut = |text: &str| {
            let groups = Groups::new(text.as_bytes(), &numbers);
            groups.map(|(start, end)| text[start..end].to_string()).collect::<Vec<_>>()
        };
        assert_eq!(cut("1234567"), ["1", "234", "567"]);
        assert_eq!(cut("ab123456c1 d"), ["ab123", "456", "c1", " d"]);
        assert_eq!(cut("\u{661}\u{662}\u{663}4x"), ["\u{661}", "\u{662}\u{663}4", "x"]);
        assert_eq!(cut("ab"), ["ab"]);
        assert_eq!(cut(""), [""; 0]);
    }
}
