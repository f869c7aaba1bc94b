//! Patterns: a literal, single scalars of a set, or a regular expression.

mod compile;
mod matching;
pub mod node;
mod scratch;

use super::scalars::scalar_at;
use super::sets::ScalarSet;
pub use compile::{Program, MOST_STEPS};
pub use scratch::{Budget, Scratch};

/// What a text is searched for.
pub enum Pattern {
    /// A text that is not empty.
    Literal(Vec<u8>),
    /// Every scalar of the set with this number.
    Each(usize),
    /// A regular expression.
    Expression(Program),
}

impl Pattern {
    /// The first match at or behind a place; none is empty. `budget` is that of all matches of the
    /// text; without steps left there is none, and `scratch` refuses.
    #[inline]
    pub fn next(
        &self,
        text: &[u8],
        from: usize,
        sets: &[ScalarSet],
        budget: &mut Budget,
        scratch: &mut Scratch,
    ) -> Option<(usize, usize)> {
        match self {
            Pattern::Literal(wanted) => find(text, from, wanted),
            Pattern::Each(set) => member(text, from, &sets[*set]),
            Pattern::Expression(program) => {
                scratch.within(budget, |scratch| program.search(text, from, sets, scratch))
            }
        }
    }
}

fn find(text: &[u8], from: usize, wanted: &[u8]) -> Option<(usize, usize)> {
    let (&first, rest) = wanted.split_first()?;
    let mut at = from;
    while let Some(ahead) = text[at..].iter().position(|&byte| byte == first) {
        at += ahead + 1;
        if text[at..].starts_with(rest) {
            return Some((at - 1, at + rest.len()));
        }
    }
    None
}

fn member(text: &[u8], from: usize, set: &ScalarSet) -> Option<(usize, usize)> {
    let mut at = from;
    while at < text.len() {
        let (code, len) = scalar_at(text, at);
        if set.has(code) {
            return Some((at, at + len));
        }
        at += len;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::node::{Mode, Node, ENDLESS};
    use super::*;

    fn sets() -> Vec<ScalarSet> {
        [vec![(0x61, 0x63)], vec![(0x62, 0x62)], vec![(0x20, 0x20)], vec![(0x61, 0x10_ffff)]]
            .into_iter()
            .map(ScalarSet::new)
            .collect()
    }

    fn run(set: usize, least: u32, most: u32, mode: Mode) -> Node {
        Node::Repeat { node: Box::new(Node::Set(set)), least, most, mode }
    }

    fn spans(node: Node, text: &str) -> Vec<(usize, usize)> {
        let sets = sets();
        let pattern = Pattern::Expression(Program::new(&node, &sets, "test").unwrap());
        searched(&pattern, text.as_bytes(), &mut Scratch::default())
    }

    fn searched(pattern: &Pattern, text: &[u8], scratch: &mut Scratch) -> Vec<(usize, usize)> {
        let (sets, mut budget) = (sets(), Budget::of(text));
        let mut out = Vec::new();
        let mut at = 0;
        while let Some((start, end)) = pattern.next(text, at, &sets, &mut budget, scratch) {
            out.push((start, end));
            at = end;
        }
        out
    }

    /// `(?:[a-c]+)+ ` tries every way to cut letters into runs.
    fn nested() -> Pattern {
        let inside = Box::new(run(0, 1, ENDLESS, Mode::Greedy));
        let all = Node::Repeat { node: inside, least: 1, most: ENDLESS, mode: Mode::Greedy };
        let tree = Node::Sequence(vec![all, Node::Set(2)]);
        Pattern::Expression(Program::new(&tree, &sets(), "test").unwrap())
    }

    #[test]
    fn a_search_without_end_is_refused_and_the_next_one_is_not() {
        let (pattern, mut scratch) = (nested(), Scratch::default());
        assert_eq!(searched(&pattern, b"abcabc ", &mut scratch), [(0, 7)]);
        assert!(scratch.checked().is_ok());
        assert_eq!(searched(&pattern, &[b'a'; 40], &mut scratch), []);
        assert_eq!(searched(&pattern, b"abcabc ", &mut scratch), []);
        assert!(scratch.checked().is_err());
        assert_eq!(searched(&pattern, b"abcabc ", &mut scratch), [(0, 7)]);
        assert!(scratch.checked().is_ok());
    }

    #[test]
    fn behind_a_run_that_leads_to_nothing_the_search_goes_on() {
        let tree = Node::Sequence(vec![run(2, 1, ENDLESS, Mode::Greedy), Node::End]);
        let text = [" ".repeat(1 << 20), "a  ".to_string()].concat();
        assert_eq!(spans(tree, &text), [((1 << 20) + 1, (1 << 20) + 3)]);
    }

    #[test]
    fn greedy_gives_back_lazy_takes_more_possessive_keeps() {
        let before_b = |mode| Node::Sequence(vec![run(0, 1, ENDLESS, mode), Node::Set(1)]);
        assert_eq!(spans(before_b(Mode::Greedy), "aabcb a"), [(0, 5)]);
        assert_eq!(spans(before_b(Mode::Lazy), "aabcb a"), [(0, 3), (3, 5)]);
        assert_eq!(spans(before_b(Mode::Possessive), "aabcb a"), []);
    }

    #[test]
    fn looks_take_nothing() {
        let look = |behind, negative| Node::Look { node: Box::new(Node::Set(2)), behind, negative };
        let any = || run(3, 1, ENDLESS, Mode::Greedy);
        assert_eq!(spans(Node::Sequence(vec![any(), look(None, false)]), "ab é"), [(0, 2)]);
        assert_eq!(spans(Node::Sequence(vec![look(Some(1), false), any()]), "ab é"), [(3, 5)]);
        assert_eq!(spans(Node::Sequence(vec![look(Some(1), true), any()]), "ab é"), [(0, 2)]);
    }

    #[test]
    fn groups_repeat_with_bounds_and_alternatives_keep_their_order() {
        let group = Node::Sequence(vec![Node::Set(0), Node::Set(2)]);
        let twice =
            Node::Repeat { node: Box::new(group.clone()), least: 2, most: 3, mode: Mode::Greedy };
        assert_eq!(spans(twice, "a a a a a "), [(0, 6), (6, 10)]);
        let either = Node::Alternatives(vec![Node::Set(0), group.clone()]);
        assert_eq!(spans(either, "a b "), [(0, 1), (2, 3)]);
        let atomic = Node::Atomic(Box::new(Node::Alternatives(vec![Node::Set(0), group])));
        assert_eq!(spans(Node::Sequence(vec![atomic, Node::Set(1)]), "a bab"), [(3, 5)]);
    }

    #[test]
    fn a_long_run_of_groups_needs_no_recursion() {
        let group = Node::Sequence(vec![Node::Set(0), Node::Set(2)]);
        let all =
            Node::Repeat { node: Box::new(group), least: 1, most: ENDLESS, mode: Mode::Greedy };
        assert_eq!(spans(all, &"a ".repeat(200_000)), [(0, 400_000)]);
    }

    #[test]
    fn too_many_steps_are_refused() {
        let mut node = Node::Sequence(vec![Node::Set(0), Node::Set(1)]);
        for _ in 0..2 {
            let inner = Box::new(node);
            node = Node::Repeat { node: inner, least: 60_000, most: 60_000, mode: Mode::Lazy };
        }
        assert!(Program::new(&node, &sets(), "test").is_err());
    }
}
