//! Running a program at one place after another; alternatives wait on a stack, not in recursion.

use super::compile::{Program, Step};
use super::node::Mode;
use super::scratch::Scratch;
use crate::text::scalars::{before, scalar_at};
use crate::text::sets::ScalarSet;

/// What to do when a way fails.
pub(super) enum Waiting {
    /// Go on at this step and place.
    Branch(usize, usize),
    /// A run that ends at the second place may end earlier, down to the first.
    Shorter(usize, usize, usize),
    /// A run that ends at this place may take so many more.
    Longer(usize, usize, u32),
}

/// Where a search stands.
struct Run<'p> {
    steps: &'p [Step],
    sets: &'p [ScalarSet],
    text: &'p [u8],
}

impl Program {
    /// The first match at or behind a place.
    pub(super) fn search(
        &self,
        text: &[u8],
        from: usize,
        sets: &[ScalarSet],
        scratch: &mut Scratch,
    ) -> Option<(usize, usize)> {
        let run = Run { steps: &self.steps, sets, text };
        let mut at = from;
        while at < text.len() {
            if let Some(end) = self.at_place(&run, at, scratch) {
                return Some((at, end));
            }
            if scratch.is_spent() {
                return None;
            }
            let next = at + scalar_at(text, at).1;
            at = self.leading.map_or(next, |set| run.scan(&sets[set], at, u32::MAX).0.max(next));
        }
        None
    }

    fn at_place(&self, run: &Run, at: usize, scratch: &mut Scratch) -> Option<usize> {
        let mut wanted = match run.text[at] {
            byte @ 0..=0x7f => self.ascii[usize::from(byte)],
            _ => self.beyond,
        };
        while wanted != 0 {
            let branch = self.branches[wanted.trailing_zeros() as usize];
            wanted &= wanted - 1;
            if let Some(end) = run.from(branch, at, scratch) {
                return Some(end);
            }
        }
        None
    }
}

impl Run<'_> {
    /// The end of the match that begins at a step and a place.
    fn from(&self, step: usize, place: usize, scratch: &mut Scratch) -> Option<usize> {
        let floor = scratch.waiting.len();
        let (mut step, mut at) = (step, place);
        loop {
            scratch.count(1)?;
            let next = match &self.steps[step] {
                Step::Accept => {
                    scratch.waiting.truncate(floor);
                    return Some(at);
                }
                other => self.step(other, step, at, scratch),
            };
            let (to, place) = match next {
                Some(way) => way,
                None => self.back(floor, scratch)?,
            };
            step = to;
            at = place;
        }
    }

    #[inline]
    fn step(
        &self,
        step: &Step,
        number: usize,
        at: usize,
        scratch: &mut Scratch,
    ) -> Option<(usize, usize)> {
        match *step {
            Step::Literal(ref text) => {
                self.text[at..].starts_with(text).then(|| (number + 1, at + text.len()))
            }
            Step::Set(set) => {
                let (code, len) = self.text.get(at).map(|_| scalar_at(self.text, at))?;
                self.sets[set].has(code).then(|| (number + 1, at + len))
            }
            Step::Run { set, least, most, mode } => {
                let run = (&self.sets[set], least, most);
                self.run(run, mode, number + 1, at, scratch).map(|end| (number + 1, end))
            }
            Step::Split(first, second) => {
                scratch.waiting.push(Waiting::Branch(second, at));
                Some((first, at))
            }
            Step::Jump(to) => Some((to, at)),
            Step::Look { behind, negative, next } => {
                let holds = self.holds(behind, number + 1, at, scratch);
                (holds != negative).then_some((next, at))
            }
            Step::Atomic(next) => self.from(number + 1, at, scratch).map(|end| (next, end)),
            Step::End => (at == self.text.len()).then_some((number + 1, at)),
            Step::Accept => None,
        }
    }

    fn holds(&self, behind: Option<u32>, step: usize, at: usize, scratch: &mut Scratch) -> bool {
        let mut place = at;
        for _ in 0..behind.unwrap_or(0) {
            if place == 0 {
                return false;
            }
            place = before(self.text, place);
        }
        self.from(step, place, scratch).is_some()
    }

    /// The end of a run; what else it could be waits.
    #[inline]
    fn run(
        &self,
        (set, least, most): (&ScalarSet, u32, u32),
        mode: Mode,
        next: usize,
        from: usize,
        scratch: &mut Scratch,
    ) -> Option<usize> {
        let (shortest, count) = self.scan(set, from, least);
        scratch.count(count.into())?;
        if count < least {
            return None;
        }
        if mode == Mode::Lazy {
            scratch.waiting.push(Waiting::Longer(next - 1, shortest, most - least.min(most)));
            return Some(shortest);
        }
        let (end, count) = self.scan(set, shortest, most - least.min(most));
        scratch.count(count.into())?;
        if mode == Mode::Greedy && end > shortest {
            scratch.waiting.push(Waiting::Shorter(next, shortest, end));
        }
        Some(end)
    }

    /// Where scalars of a set end, and how many there are, at most `most`.
    #[inline]
    fn scan(&self, set: &ScalarSet, from: usize, most: u32) -> (usize, u32) {
        let (mut at, mut count) = (from, 0);
        while count < most {
            let byte = match self.text.get(at) {
                Some(&byte) => byte,
                None => break,
            };
            if byte < 0x80 {
                if !set.has_ascii(byte) {
                    break;
                }
                at += 1;
            } else {
                let (code, len) = scalar_at(self.text, at);
                if !set.has(code) {
                    break;
                }
                at += len;
            }
            count += 1;
        }
        (at, count)
    }

    /// The latest way that waits above the floor.
    fn back(&self, floor: usize, scratch: &mut Scratch) -> Option<(usize, usize)> {
        while scratch.waiting.len() > floor {
            match scratch.waiting.pop()? {
                Waiting::Branch(step, at) => return Some((step, at)),
                Waiting::Shorter(step, shortest, end) => {
                    let at = before(self.text, end);
                    if at > shortest {
                        scratch.waiting.push(Waiting::Shorter(step, shortest, at));
                    }
                    return Some((step, at));
                }
                Waiting::Longer(step, end, left) => {
                    if let Some(at) = self.longer(step, end, left) {
                        scratch.count(1)?;
                        scratch.waiting.push(Waiting::Longer(step, at, left.saturating_sub(1)));
                        return Some((step + 1, at));
                    }
                }
            }
        }
        None
    }

    /// One more scalar of a lazy run.
    fn longer(&self, step: usize, end: usize, left: u32) -> Option<usize> {
        let set = match self.steps[step] {
            Step::Run { set, .. } => &self.sets[set],
            _ => return None,
        };
        let (at, _) = self.scan(set, end, left.min(1));
        (at > end).then_some(at)
    }
}
