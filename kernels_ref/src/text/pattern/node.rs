//! The tree of a regular expression.

use crate::text::scalars::count;

/// How often is often enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As often as possible, less on demand.
    Greedy,
    /// As rarely as possible, more on demand.
    Lazy,
    /// As often as possible, never less.
    Possessive,
}

/// A repetition without upper bound.
pub const ENDLESS: u32 = u32::MAX;

/// One construct. What is repeated without end, and the whole, match at least one scalar.
#[derive(Clone, Debug)]
pub enum Node {
    /// Two scalars or more.
    Literal(Vec<u8>),
    /// One scalar of the set with this number.
    Set(usize),
    /// One after another.
    Sequence(Vec<Node>),
    /// The first that leads to a match.
    Alternatives(Vec<Node>),
    /// `least` to `most` times.
    Repeat {
        /// What is repeated.
        node: Box<Node>,
        /// At least so often.
        least: u32,
        /// At most so often, or `ENDLESS`.
        most: u32,
        /// Which number comes first.
        mode: Mode,
    },
    /// A condition on what lies ahead, or on so many scalars behind.
    Look {
        /// The condition.
        node: Box<Node>,
        /// Scalars to go back; None looks ahead.
        behind: Option<u32>,
        /// Whether it must not hold.
        negative: bool,
    },
    /// Once matched, matched for good.
    Atomic(Box<Node>),
    /// The end of the text.
    End,
}

impl Node {
    /// The fewest and the most scalars of a match; None is no bound.
    pub fn lengths(&self) -> (u64, Option<u64>) {
        match self {
            Node::Literal(text) => {
                let length = count(text) as u64;
                (length, Some(length))
            }
            Node::Set(_) => (1, Some(1)),
            Node::Look { .. } | Node::End => (0, Some(0)),
            Node::Atomic(node) => node.lengths(),
            Node::Repeat { node, least, most, .. } => repeated(node.lengths(), *least, *most),
            Node::Sequence(nodes) => {
                nodes.iter().map(Node::lengths).fold((0, Some(0)), |(low, high), (least, most)| {
                    let both = high.zip(most).map(|(a, b): (u64, u64)| a.saturating_add(b));
                    (u64::saturating_add(low, least), both)
                })
            }
            Node::Alternatives(nodes) => nodes.iter().map(Node::lengths).fold(
                (u64::MAX, Some(0)),
                |(low, high), (least, most)| {
                    (low.min(least), high.zip(most).map(|(a, b): (u64, u64)| a.max(b)))
                },
            ),
        }
    }

    /// Steps with counted repetitions written out (docs/formats/tok2.md).
    pub fn steps(&self) -> u64 {
        let sum = |nodes: &[Node]| nodes.iter().map(Node::steps).fold(0, u64::saturating_add);
        match self {
            Node::Literal(_) | Node::Set(_) | Node::End => 1,
            Node::Sequence(nodes) => sum(nodes),
            Node::Alternatives(nodes) => sum(nodes).saturating_add(2 * (nodes.len() as u64 - 1)),
            Node::Look { node, .. } | Node::Atomic(node) => node.steps().saturating_add(2),
            Node::Repeat { node, .. } if matches!(**node, Node::Set(_)) => 1,
            Node::Repeat { node, least, most, mode } => {
                let (once, least) = (node.steps(), u64::from(*least));
                let more = match *most {
                    ENDLESS => once.saturating_add(2),
                    most => (u64::from(most) - least).saturating_mul(once.saturating_add(1)),
                };
                let own = if *mode == Mode::Possessive { 2 } else { 0 };
                least.saturating_mul(once).saturating_add(more).saturating_add(own)
            }
        }
    }

    /// Whether it can match nothing.
    pub fn nullable(&self) -> bool {
        self.lengths().0 == 0
    }
}

fn repeated((low, high): (u64, Option<u64>), least: u32, most: u32) -> (u64, Option<u64>) {
    let high = match (high, most) {
        (Some(0), _) | (_, 0) => Some(0),
        (_, ENDLESS) | (None, _) => None,
        (Some(high), most) => Some(high.saturating_mul(most.into())),
    };
    (low.saturating_mul(least.into()), high)
}
