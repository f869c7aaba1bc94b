//! The compiled template: a flat table of nodes that refer to earlier ones only.

use std::rc::Rc;

use crate::chat::arithmetic::Operator;
use crate::chat::compare::Comparison;
use crate::chat::value::Value;

/// Index of a node.
pub type Index = u32;
/// A name that the template spells.
pub type Name = Rc<str>;

/// A compiled template that was checked; the last node is the root.
pub struct Template {
    pub(crate) nodes: Vec<Node>,
    /// Names that the root hides from its start.
    pub(crate) hidden: Vec<Name>,
}

/// An operation and its line in the source.
pub struct Node {
    pub line: u64,
    pub op: Op,
}

/// What a call is given.
pub struct Given {
    pub args: Vec<Index>,
    pub names: Vec<Name>,
    pub values: Vec<Index>,
}

/// The whole language.
pub enum Op {
    Const(Value),
    Name(Name),
    List(Vec<Index>),
    Tuple(Vec<Index>),
    Dict {
        keys: Vec<Index>,
        values: Vec<Index>,
    },
    Add(Vec<Index>),
    Concat(Vec<Index>),
    Arith {
        op: Operator,
        left: Index,
        right: Index,
    },
    Neg(Index),
    Pos(Index),
    Not(Index),
    And(Index, Index),
    Or(Index, Index),
    Compare {
        first: Index,
        ops: Vec<Comparison>,
        others: Vec<Index>,
    },
    /// `prefix`: whether the two values are written for a generation prompt alone.
    Cond {
        test: Index,
        then: Index,
        other: Option<Index>,
        prefix: [bool; 2],
    },
    Attr(Index, Name),
    Item(Index, Index),
    Slice(Index, [Option<Index>; 3]),
    Filter {
        held: Index,
        name: Name,
        given: Given,
    },
    Test {
        held: Index,
        name: Name,
        args: Vec<Index>,
    },
    Call {
        name: Name,
        given: Given,
    },
    Method {
        held: Index,
        name: Name,
        given: Given,
    },
    Captured,
    Emit(Vec<Index>),
    ToName(Name),
    ToField(Name, Name),
    ToParts(Vec<Index>),
    Set {
        target: Index,
        value: Index,
    },
    Capture {
        target: Index,
        value: Index,
        hidden: Vec<Name>,
        body: Index,
    },
    /// `prefix` has one more entry than there are tests: that of `other`.
    If {
        tests: Vec<Index>,
        bodies: Vec<Index>,
        other: Option<Index>,
        prefix: Vec<bool>,
    },
    For(Box<For>),
    With {
        targets: Vec<Index>,
        values: Vec<Index>,
        hidden: Vec<Name>,
        body: Index,
    },
    Scope {
        hidden: Vec<Name>,
        body: Index,
    },
    Filtered {
        hidden: Vec<Name>,
        body: Index,
        value: Index,
    },
    Macro(Box<Macro>),
    Break,
    Continue,
    Body(Vec<Index>),
}

/// A loop.
pub struct For {
    pub target: Index,
    pub over: Index,
    pub test: Option<Index>,
    pub hidden: Vec<Name>,
    pub body: Index,
    pub other: Option<Index>,
    pub other_hidden: Vec<Name>,
}

/// A macro.
pub struct Macro {
    pub name: Name,
    pub parameters: Vec<Name>,
    pub defaults: Vec<Index>,
    pub hidden: Vec<Name>,
    pub body: Index,
}

/// Where a node may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// It has a value.
    Expression,
    /// It does something.
    Statement,
    /// It takes a value.
    Target,
}

impl Op {
    /// Where this operation may stand.
    pub fn sort(&self) -> Sort {
        match self {
            Op::ToName(_) | Op::ToField(..) | Op::ToParts(_) => Sort::Target,
            Op::Emit(_)
            | Op::Set { .. }
            | Op::Capture { .. }
            | Op::If { .. }
            | Op::For(_)
            | Op::With { .. }
            | Op::Scope { .. }
            | Op::Filtered { .. }
            | Op::Macro(_)
            | Op::Break
            | Op::Continue
            | Op::Body(_) => Sort::Statement,
            _ => Sort::Expression,
        }
    }

    /// The nodes within, each with the sort that it must be of.
    pub fn children(&self) -> Vec<(Index, Sort)> {
        use Sort::{Expression, Statement, Target};
        let mut found = Vec::new();
        let mut add = |held: &[Index], sort| found.extend(held.iter().map(|&at| (at, sort)));
        match self {
            Op::Const(_) | Op::Name(_) | Op::Captured | Op::ToName(_) | Op::ToField(..) => {}
            Op::Break | Op::Continue => {}
            Op::List(held) | Op::Tuple(held) | Op::Add(held) | Op::Concat(held) => {
                add(held, Expression);
            }
            Op::Emit(held) => add(held, Expression),
            Op::ToParts(held) => add(held, Target),
            Op::Body(held) => add(held, Statement),
            Op::Dict { keys, values } => {
                add(keys, Expression);
                add(values, Expression);
            }
            Op::Arith { left, right, .. } => add(&[*left, *right], Expression),
            Op::And(left, right) | Op::Or(left, right) | Op::Item(left, right) => {
                add(&[*left, *right], Expression);
            }
            Op::Neg(held) | Op::Pos(held) | Op::Not(held) | Op::Attr(held, _) => {
                add(&[*held], Expression);
            }
            Op::Compare { first, others, .. } => {
                add(&[*first], Expression);
                add(others, Expression);
            }
            Op::Cond { test, then, other, .. } => {
                add(&[*test, *then], Expression);
                add(&other.map_or(vec![], |other| vec![other]), Expression);
            }
            Op::Slice(held, parts) => {
                add(&[*held], Expression);
                parts.iter().flatten().for_each(|&part| add(&[part], Expression));
            }
            Op::Filter { held, given, .. } | Op::Method { held, given, .. } => {
                add(&[*held], Expression);
                add(&given.args, Expression);
                add(&given.values, Expression);
            }
            Op::Test { held, args, .. } => {
                add(&[*held], Expression);
                add(args, Expression);
            }
            Op::Call { given, .. } => {
                add(&given.args, Expression);
                add(&given.values, Expression);
            }
            Op::Set { target, value } => {
                add(&[*target], Target);
                add(&[*value], Expression);
            }
            Op::Capture { target, value, body, .. } => {
                add(&[*target], Target);
                add(&[*value], Expression);
                add(&[*body], Statement);
            }
            Op::If { tests, bodies, other, .. } => {
                add(tests, Expression);
                add(bodies, Statement);
                add(&other.map_or(vec![], |other| vec![other]), Statement);
            }
            Op::For(held) => {
                add(&[held.target], Target);
                add(&[held.over], Expression);
                add(&held.test.map_or(vec![], |test| vec![test]), Expression);
                add(&[held.body], Statement);
                add(&held.other.map_or(vec![], |other| vec![other]), Statement);
            }
            Op::With { targets, values, body, .. } => {
                add(targets, Target);
                add(values, Expression);
                add(&[*body], Statement);
            }
            Op::Scope { body, .. } => add(&[*body], Statement),
            Op::Filtered { body, value, .. } => {
                add(&[*body], Statement);
                add(&[*value], Expression);
            }
            Op::Macro(held) => {
                add(&held.defaults, Expression);
                add(&[held.body], Statement);
            }
        }
        found
    }
}
