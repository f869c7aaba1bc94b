//! From the tree to a program for one place after another, with a backtracking stack.

use super::node::{Mode, Node, ENDLESS};
use crate::error::{ensure, Code, Error, Result};
use crate::text::sets::ScalarSet;

/// Steps of a program at most; bounded repetitions of groups are written out.
pub const MOST_STEPS: usize = 1 << 16;
/// Alternatives told apart by their first byte; a longer list is one alternative.
const MOST_BRANCHES: usize = 64;

/// One step.
#[derive(Clone, Debug)]
pub enum Step {
    /// These bytes.
    Literal(Box<[u8]>),
    /// One scalar of a set.
    Set(usize),
    /// A run of scalars of a set.
    Run {
        /// The set.
        set: usize,
        /// At least so many.
        least: u32,
        /// At most so many.
        most: u32,
        /// Which number comes first.
        mode: Mode,
    },
    /// Go on at `first`, on failure at `second`.
    Split(usize, usize),
    /// Go on there.
    Jump(usize),
    /// The condition that follows, up to its `Accept`; then go on at `next`.
    Look {
        /// Scalars to go back; None looks ahead.
        behind: Option<u32>,
        /// Whether it must not hold.
        negative: bool,
        /// The step behind the condition.
        next: usize,
    },
    /// What follows, up to its `Accept`, for good; then go on at the step named.
    Atomic(usize),
    /// The text has ended.
    End,
    /// Matched.
    Accept,
}

/// A compiled expression.
pub struct Program {
    pub(super) steps: Vec<Step>,
    /// Where each alternative begins.
    pub(super) branches: Vec<usize>,
    /// The alternatives that an ASCII byte can begin, one bit each.
    pub(super) ascii: Box<[u64; 128]>,
    /// Those that a scalar beyond ASCII can begin.
    pub(super) beyond: u64,
    /// The set of the endless run that every match begins with and never gives back: where a match
    /// fails behind it, it fails from each place within it.
    pub(super) leading: Option<usize>,
}

impl Program {
    /// Compile a tree.
    pub fn new(node: &Node, sets: &[ScalarSet], place: &str) -> Result<Program> {
        let branches = match node {
            Node::Alternatives(nodes) if nodes.len() <= MOST_BRANCHES => &nodes[..],
            other => std::slice::from_ref(other),
        };
        let mut program = Program {
            steps: Vec::new(),
            branches: Vec::new(),
            ascii: Box::new([0; 128]),
            beyond: 0,
            leading: None,
        };
        let mut writer = Writer { steps: Vec::new(), place };
        for (i, branch) in branches.iter().enumerate() {
            program.branches.push(writer.steps.len());
            writer.node(branch)?;
            writer.push(Step::Accept)?;
            program.note_first(branch, 1 << i, sets);
        }
        possessive(&mut writer.steps, sets);
        program.leading = leading(&writer.steps);
        program.steps = writer.steps;
        Ok(program)
    }

    fn note_first(&mut self, branch: &Node, bit: u64, sets: &[ScalarSet]) {
        let mut first = First { ascii: 0, beyond: false };
        let nullable = first.of(branch, sets);
        let all = if nullable { u128::MAX } else { 0 };
        for (byte, mask) in self.ascii.iter_mut().enumerate() {
            if (first.ascii | all) >> byte & 1 != 0 {
                *mask |= bit;
            }
        }
        self.beyond |= if nullable || first.beyond { bit } else { 0 };
    }
}

/// What a match can begin with.
struct First {
    ascii: u128,
    beyond: bool,
}

impl First {
    /// Add the beginnings of a node; whether it can match nothing.
    fn of(&mut self, node: &Node, sets: &[ScalarSet]) -> bool {
        match node {
            Node::Literal(text) => {
                match text[0] {
                    byte @ 0..=0x7f => self.ascii |= 1 << byte,
                    _ => self.beyond = true,
                }
                false
            }
            Node::Set(set) => {
                self.ascii |= sets[*set].ascii();
                self.beyond |= sets[*set].beyond_ascii();
                false
            }
            Node::Sequence(nodes) => nodes.iter().all(|node| self.of(node, sets)),
            Node::Alternatives(nodes) => {
                nodes.iter().fold(false, |any, node| self.of(node, sets) | any)
            }
            Node::Repeat { node, least, .. } => self.of(node, sets) | (*least == 0),
            Node::Look { .. } | Node::End => true,
            Node::Atomic(node) => self.of(node, sets),
        }
    }
}

struct Writer<'s> {
    steps: Vec<Step>,
    place: &'s str,
}

impl Writer<'_> {
    fn push(&mut self, step: Step) -> Result<usize> {
        ensure(self.steps.len() < MOST_STEPS, || {
            Error::new(Code::Unsupported, self.place, format!("more than {} steps", MOST_STEPS))
        })?;
        self.steps.push(step);
        Ok(self.steps.len() - 1)
    }

    fn here(&self) -> usize {
        self.steps.len()
    }

    fn node(&mut self, node: &Node) -> Result<()> {
        match node {
            Node::Literal(text) => self.push(Step::Literal(text[..].into())).map(|_| ()),
            Node::Set(set) => self.push(Step::Set(*set)).map(|_| ()),
            Node::Sequence(nodes) => nodes.iter().try_for_each(|node| self.node(node)),
            Node::Alternatives(nodes) => self.alternatives(nodes),
            Node::Repeat { node, least, most, mode } => match **node {
                Node::Set(set) => {
                    let run = Step::Run { set, least: *least, most: *most, mode: *mode };
                    self.push(run).map(|_| ())
                }
                _ => self.repeat(node, *least, *most, *mode),
            },
            Node::Look { node, behind, negative } => {
                let (behind, negative) = (*behind, *negative);
                let at = self.push(Step::Look { behind, negative, next: 0 })?;
                self.node(node)?;
                let next = self.push(Step::Accept)? + 1;
                self.steps[at] = Step::Look { behind, negative, next };
                Ok(())
            }
            Node::Atomic(node) => self.atomic(|writer| writer.node(node)),
            Node::End => self.push(Step::End).map(|_| ()),
        }
    }

    fn atomic(&mut self, inside: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let at = self.push(Step::Atomic(0))?;
        inside(self)?;
        let next = self.push(Step::Accept)? + 1;
        self.steps[at] = Step::Atomic(next);
        Ok(())
    }

    fn alternatives(&mut self, nodes: &[Node]) -> Result<()> {
        let mut jumps = Vec::new();
        for (i, node) in nodes.iter().enumerate() {
            if i + 1 == nodes.len() {
                self.node(node)?;
                break;
            }
            let split = self.push(Step::Split(0, 0))?;
            self.node(node)?;
            jumps.push(self.push(Step::Jump(0))?);
            self.steps[split] = Step::Split(split + 1, self.here());
        }
        let end = self.here();
        jumps.into_iter().for_each(|jump| self.steps[jump] = Step::Jump(end));
        Ok(())
    }

    fn repeat(&mut self, node: &Node, least: u32, most: u32, mode: Mode) -> Result<()> {
        if mode == Mode::Possessive {
            return self.atomic(|writer| writer.repeat(node, least, most, Mode::Greedy));
        }
        for _ in 0..least {
            let before = self.here();
            self.node(node)?;
            if self.here() == before {
                // What has no steps need not be repeated.
                break;
            }
        }
        if most == ENDLESS {
            return self.endless(node, mode);
        }
        let mut splits = Vec::new();
        for _ in least..most {
            splits.push(self.push(Step::Split(0, 0))?);
            self.node(node)?;
        }
        let end = self.here();
        for split in splits {
            self.steps[split] = branch(mode, split + 1, end);
        }
        Ok(())
    }

    fn endless(&mut self, node: &Node, mode: Mode) -> Result<()> {
        let split = self.push(Step::Split(0, 0))?;
        self.node(node)?;
        self.push(Step::Jump(split))?;
        self.steps[split] = branch(mode, split + 1, self.here());
        Ok(())
    }
}

fn branch(mode: Mode, inside: usize, end: usize) -> Step {
    match mode {
        Mode::Lazy => Step::Split(end, inside),
        _ => Step::Split(inside, end),
    }
}

fn leading(steps: &[Step]) -> Option<usize> {
    let alone = steps.iter().filter(|step| matches!(step, Step::Accept)).count() == 1;
    match steps[0] {
        Step::Run { set, least: 0..=1, most: ENDLESS, mode: Mode::Possessive } if alone => {
            Some(set)
        }
        _ => None,
    }
}

/// Greedy runs that would gain nothing by giving back are possessive.
fn possessive(steps: &mut [Step], sets: &[ScalarSet]) {
    for at in 0..steps.len().saturating_sub(1) {
        let (before, rest) = steps.split_at_mut(at + 1);
        if let Step::Run { set, mode, .. } = &mut before[at] {
            let pointless = match rest[0] {
                Step::Accept | Step::End => true,
                Step::Set(next) => sets[*set].apart(&sets[next]),
                Step::Run { set: next, least, .. } => least > 0 && sets[*set].apart(&sets[next]),
                _ => false,
            };
            if pointless && *mode == Mode::Greedy {
                *mode = Mode::Possessive;
            }
        }
    }
}
