//! Patterns of a TOK2 block: nodes in preorder into trees.

use super::pools::{Pool, Use};
use super::section::{Section, NONE};
use crate::bytes::{u16_at, u32_at};
use crate::error::{ensure, Result};
use crate::text::pattern::node::{Mode, Node, ENDLESS};
use crate::text::pattern::MOST_STEPS;
use crate::text::scalars::scalar_at;
use crate::text::sets::Range;

const MOST_NODES: usize = 65_536;
const MOST_REPEATS: u32 = 65_535;
const DEEPEST: usize = 32;
const LONGEST_LOOK: u64 = 255;

const EMPTY: u16 = 1;
const LITERAL: u16 = 2;
const ONE_OF: u16 = 3;
const CONCAT: u16 = 4;
const CHOICE: u16 = 5;
const REPEAT: u16 = 6;
const LOOK: u16 = 7;
const ATOMIC: u16 = 8;
const END: u16 = 9;

/// The trees, and what their nodes refer to, in order.
pub struct Patterns {
    /// One tree a pattern.
    pub trees: Vec<Node>,
    /// References.
    pub uses: Vec<Use>,
}

#[derive(Clone, Copy)]
struct Row {
    op: u16,
    flags: u16,
    a: u32,
    b: u32,
    size: usize,
}

/// Section 4.
pub fn read(
    section: &Section,
    strings: &[&[u8]],
    sets: &mut Vec<Vec<Range>>,
    profile: u32,
) -> Result<Patterns> {
    section.need(16, 0)?;
    let [count, nodes] = [0, 4].map(|at| section.u32(at) as usize);
    section.ensure(nodes <= MOST_NODES, 4, "too many nodes")?;
    section.zeros(8, 8)?;
    let first = 16 + 16 * nodes;
    section.exactly(first as u64 + 4 * (count as u64 + 1), 0)?;
    let last_op = if profile == 1 { ATOMIC } else { END };
    let known = sets.len();
    let mut reader = Reader { section, strings, known, sets, nodes, last_op, uses: Vec::new() };
    let mut trees = Vec::with_capacity(count);
    let mut raw = Vec::with_capacity(count);
    let mut at = 0;
    for i in 0..count {
        let start = section.u32(first + 4 * i) as usize;
        section.ensure(start == at && at < nodes, first + 4 * i, "the start of a pattern")?;
        let (tree, end) = reader.node(at, nodes, 1)?;
        reader.require_runnable(&tree, at)?;
        trees.push(tree);
        raw.push(&section.bytes[16 + 16 * at..16 + 16 * end]);
        at = end;
    }
    let last = section.u32(first + 4 * count) as usize;
    section.ensure(at == nodes && last == nodes, first + 4 * count, "the end of the patterns")?;
    section.unlike(&raw, |i| first + 4 * i)?;
    let uses = reader.uses;
    Ok(Patterns { trees, uses })
}

struct Reader<'r, 'a> {
    section: &'r Section<'a>,
    strings: &'r [&'a [u8]],
    sets: &'r mut Vec<Vec<Range>>,
    /// Sets of the file; those behind them are literals of one scalar.
    known: usize,
    nodes: usize,
    /// The last node that the profile has.
    last_op: u16,
    uses: Vec<Use>,
}

impl Reader<'_, '_> {
    fn row(&self, node: usize) -> Row {
        let bytes = &self.section.bytes[16 + 16 * node..32 + 16 * node];
        Row {
            op: u16_at(bytes, 0),
            flags: u16_at(bytes, 2),
            a: u32_at(bytes, 4),
            b: u32_at(bytes, 8),
            size: u32_at(bytes, 12) as usize,
        }
    }

    fn rule(&self, holds: bool, node: usize, at: usize, detail: &str) -> Result<()> {
        self.section.ensure(holds, 16 + 16 * node + at, detail)
    }

    /// A node with all below it, and where the next one stands.
    fn node(&mut self, at: usize, limit: usize, depth: usize) -> Result<(Node, usize)> {
        let row = self.row(at);
        self.rule((EMPTY..=self.last_op).contains(&row.op), at, 0, "an unknown node")?;
        let most = match row.op {
            REPEAT => 2,
            LOOK => 3,
            _ => 0,
        };
        self.rule(row.flags <= most, at, 2, "unknown flags of a node")?;
        self.rule(depth <= DEEPEST, at, 0, "too many levels")?;
        self.rule((1..=limit - at).contains(&row.size), at, 12, "the size of a node")?;
        let end = at + row.size;
        self.own_uses(at, &row);
        let mut below = Vec::new();
        let mut child = at + 1;
        while child < end {
            let (node, next) = self.node(child, end, depth + 1)?;
            below.push((child, node));
            child = next;
        }
        let (fewest, open) = match row.op {
            CONCAT | CHOICE => (2, true),
            REPEAT | LOOK | ATOMIC => (1, false),
            _ => (0, false),
        };
        let good = below.len() == fewest || (open && below.len() > fewest);
        self.rule(good, at, 12, "the number of children")?;
        let node = self.made(at, row, below)?;
        Ok((node, end))
    }

    /// Note what a node refers to, in preorder.
    fn own_uses(&mut self, at: usize, row: &Row) {
        let place = self.section.offset + 16 + 16 * at + 4;
        match row.op {
            LITERAL => self.uses.push((Pool::Strings, row.a, place)),
            ONE_OF => self.uses.push((Pool::Sets, row.a, place)),
            _ => {}
        }
    }

    fn made(&mut self, at: usize, row: Row, below: Vec<(usize, Node)>) -> Result<Node> {
        match row.op {
            LITERAL => return self.literal(at, row),
            ONE_OF => return self.one_of(at, row),
            REPEAT => return self.repeat(at, row, below),
            _ => {}
        }
        self.rule(row.a == 0, at, 4, "an unused number")?;
        self.rule(row.b == 0, at, 8, "an unused number")?;
        if let CONCAT | CHOICE = row.op {
            self.require_flat(row.op, &below)?;
        }
        let behind = row.flags & 1 != 0;
        let negative = row.flags & 2 != 0;
        let mut nodes = below.into_iter().map(|(_, node)| node);
        Ok(match row.op {
            CHOICE => Node::Alternatives(nodes.collect()),
            END => Node::End,
            LOOK | ATOMIC => {
                let node = Box::new(nodes.next().unwrap_or(Node::Sequence(Vec::new())));
                let width = node.lengths().0.min(LONGEST_LOOK) as u32;
                match row.op {
                    LOOK => Node::Look { node, behind: behind.then_some(width), negative },
                    _ => Node::Atomic(node),
                }
            }
            _ => Node::Sequence(nodes.collect()),
        })
    }

    fn literal(&mut self, at: usize, row: Row) -> Result<Node> {
        let text = self.strings.get(row.a as usize).copied().unwrap_or(b"");
        self.rule(!text.is_empty(), at, 4, "a literal without text")?;
        self.rule(row.b == 0, at, 8, "an unused number")?;
        let (code, len) = scalar_at(text, 0);
        if len < text.len() {
            return Ok(Node::Literal(text.to_vec()));
        }
        let single = vec![(code, code)];
        let place = self.sets[self.known..].iter().position(|set| *set == single);
        let number = place.map_or(self.sets.len(), |place| self.known + place);
        if place.is_none() {
            self.sets.push(single);
        }
        Ok(Node::Set(number))
    }

    fn one_of(&mut self, at: usize, row: Row) -> Result<Node> {
        let number = row.a as usize;
        self.rule(number < self.known, at, 4, "no such set")?;
        self.rule(row.b == 0, at, 8, "an unused number")?;
        let single = matches!(self.sets[number][..], [(low, high)] if low == high);
        self.rule(!single, at, 0, "a set of one scalar is a literal")?;
        Ok(Node::Set(number))
    }

    fn repeat(&mut self, at: usize, row: Row, below: Vec<(usize, Node)>) -> Result<Node> {
        let (least, most) = (row.a, row.b);
        self.rule(least <= MOST_REPEATS, at, 4, "too many repetitions")?;
        let bounded = (least..=MOST_REPEATS).contains(&most);
        self.rule(most == NONE || bounded, at, 8, "the most repetitions")?;
        let mode = [Mode::Greedy, Mode::Lazy, Mode::Possessive][usize::from(row.flags)];
        let most = if most == NONE { ENDLESS } else { most };
        let node = below.into_iter().map(|(_, node)| node).next();
        let node = Box::new(node.unwrap_or(Node::Sequence(Vec::new())));
        Ok(Node::Repeat { node, least, most, mode })
    }

    fn require_flat(&self, op: u16, below: &[(usize, Node)]) -> Result<()> {
        let mut after_literal = false;
        for &(place, _) in below {
            let child = self.row(place).op;
            // The empty node is a concatenation of nothing.
            let same = child == op || (op == CONCAT && child == EMPTY);
            self.rule(!same, place, 0, "a row inside a row")?;
            let literal = child == LITERAL;
            let twice = op == CONCAT && literal && after_literal;
            self.rule(!twice, place, 0, "a literal behind a literal")?;
            after_literal = literal;
        }
        Ok(())
    }

    /// The rules that need a whole pattern.
    fn require_runnable(&self, tree: &Node, at: usize) -> Result<()> {
        self.rule(!tree.nullable(), at, 0, "an empty match")?;
        let mut next = at;
        self.runnable(tree, &mut next, false)?;
        self.rule(tree.steps() < MOST_STEPS as u64, at, 0, "too many steps")
    }

    fn runnable(&self, node: &Node, next: &mut usize, behind: bool) -> Result<()> {
        let at = *next;
        *next += 1;
        ensure(at < self.nodes, || self.section.fault(0, "more nodes than there are"))?;
        match node {
            Node::Literal(_) | Node::Set(_) | Node::End => Ok(()),
            Node::Sequence(nodes) | Node::Alternatives(nodes) => {
                nodes.iter().try_for_each(|node| self.runnable(node, next, behind))
            }
            Node::Repeat { node, most, .. } => {
                let empty = *most > 1 && node.nullable();
                self.rule(!empty, at, 0, "a repetition of what can be empty")?;
                self.runnable(node, next, behind)
            }
            Node::Look { node, behind: width, .. } => {
                self.rule(!behind, at, 0, "a look inside a look behind")?;
                let (low, high) = node.lengths();
                let good = width.is_none() || (Some(low) == high && low <= LONGEST_LOOK);
                self.rule(good, at, 0, "a look behind without one length")?;
                self.runnable(node, next, behind || width.is_some())
            }
            Node::Atomic(node) => self.runnable(node, next, behind),
        }
    }
}
