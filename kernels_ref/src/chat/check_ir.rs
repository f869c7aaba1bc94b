//! What the fields of single nodes do not show: order, sorts, depth, and loops that are left.

use crate::chat::ir::{Index, Op, Template};
use crate::chat::limits;
use crate::chat::read_ir::malformed;
use crate::error::{ensure, Code, Error, Result};

/// Check a table of nodes.
pub fn check(template: &Template) -> Result<()> {
    let mut depths: Vec<usize> = Vec::new();
    let mut leaving: Vec<bool> = Vec::new();
    for (at, node) in template.nodes.iter().enumerate() {
        let place = || format!("node {}", at);
        let children = node.op.children();
        for &(child, sort) in &children {
            let earlier = template.nodes[..at].get(child as usize);
            let earlier = earlier.ok_or_else(|| malformed(place(), "refers to a later node"))?;
            ensure(earlier.op.sort() == sort, || malformed(place(), "a node of the wrong sort"))?;
        }
        let children: Vec<Index> = children.iter().map(|child| child.0).collect();
        leaving.push(leaves(&node.op, &children, &leaving));
        if let Op::Macro(held) = &node.op {
            let inside = !leaving[held.body as usize];
            ensure(inside, || malformed(place(), "a macro leaves a loop around it"))?;
        }
        let deepest = children.iter().map(|&child| depths[child as usize]).max();
        depths.push(1 + deepest.unwrap_or(0));
        ensure(depths[at] <= limits::NODE_DEPTH, || {
            let detail =
                format!("nesting: {} is above the limit {}", depths[at], limits::NODE_DEPTH);
            Error::new(Code::TemplateLimit, format!("line {}", node.line), detail)
        })?;
    }
    let root = template.nodes.last().map(|node| &node.op);
    ensure(matches!(root, Some(Op::Body(_))), || {
        malformed("template", "the last node is no body")
    })?;
    ensure(leaving.last() != Some(&true), || {
        malformed("template", "break or continue outside a loop")
    })
}

/// True if `break` or `continue` in this node would leave a loop around it.
fn leaves(op: &Op, children: &[Index], leaving: &[bool]) -> bool {
    match op {
        Op::Break | Op::Continue => true,
        Op::For(held) => held.other.map_or(false, |other| leaving[other as usize]),
        _ => children.iter().any(|&child| leaving[child as usize]),
    }
}
