//! Stages that take a text while it grows, and wait only as long as they must.

use super::chain::Fragment;
use crate::text::decoder_texts::{replaced, tidied};
use crate::text::scalars::push;

/// One stage.
#[derive(Clone)]
pub enum Growing {
    /// The character is a space; in the first text it may be nothing.
    Metaspace {
        /// The character.
        character: Vec<u8>,
        /// It is a space in this text.
        space: bool,
    },
    /// All texts are one, which ends when nothing follows.
    Fuse,
    /// At most so many of one character off the ends of every text.
    Strip {
        /// The character.
        character: Vec<u8>,
        /// So many at the start.
        start: usize,
        /// So many at the end.
        stop: usize,
        /// Those that may still go at the start of this text.
        left: usize,
        /// Those that wait, since they may be its end.
        held: usize,
    },
    /// A literal text replaced.
    Literal {
        /// The text.
        wanted: Vec<u8>,
        /// What stands in its place.
        content: Vec<u8>,
        /// What may be the beginning of one.
        tail: Vec<u8>,
    },
    /// Tidied up to the last space that nothing before it can take away.
    Tidied(Vec<u8>),
    /// As it is.
    Passed,
}

impl Growing {
    /// Every `wanted` as `content`.
    pub fn literal(wanted: &[u8], content: &[u8]) -> Growing {
        let (wanted, content) = (wanted.to_vec(), content.to_vec());
        Growing::Literal { wanted, content, tail: Vec::new() }
    }

    /// At most so many of one scalar off both ends.
    pub fn strip(code: u32, start: u32, stop: u32) -> Growing {
        let (start, stop) = (start as usize, stop as usize);
        let mut character = Vec::new();
        push(&mut character, code);
        Growing::Strip { character, start, stop, left: start, held: 0 }
    }

    /// What follows from one more fragment.
    pub fn push(&mut self, Fragment { mut text, ends }: Fragment) -> Fragment {
        match self {
            Growing::Metaspace { character, space } => {
                text = replaced(&text, character, if *space { b" " } else { b"" });
                *space |= ends;
            }
            Growing::Fuse => return Fragment::open(text),
            Growing::Strip { character, start, stop, left, held } => {
                text = stripped(&text, character, *stop, left, held);
                if ends {
                    (*left, *held) = (*start, 0);
                }
            }
            Growing::Literal { wanted, content, tail } => {
                tail.extend(text);
                text = literals(wanted, content, tail, ends);
            }
            Growing::Tidied(tail) => {
                tail.extend(text);
                let behind = tail.split_off(if ends { tail.len() } else { last_cut(tail) });
                text = tidied(&std::mem::replace(tail, behind));
            }
            Growing::Passed => {}
        }
        Fragment { text, ends }
    }

    /// What is left when no text follows.
    pub fn finish(&mut self) -> Option<Fragment> {
        matches!(self, Growing::Fuse).then(|| Fragment::last(Vec::new()))
    }
}

/// What can be at neither end of a text.
fn stripped(
    text: &[u8],
    character: &[u8],
    stop: usize,
    left: &mut usize,
    held: &mut usize,
) -> Vec<u8> {
    let size = character.len();
    let here = text.chunks(size).take_while(|&one| one == character).count();
    let going = here.min(*left);
    *left = if here * size == text.len() { *left - going } else { 0 };
    let mut out = character.repeat(*held);
    out.extend_from_slice(&text[going * size..]);
    let mut end = out.len();
    *held = 0;
    while *held < stop && out[..end].ends_with(character) {
        end -= size;
        *held += 1;
    }
    out.truncate(end);
    out
}

/// Everything up to what may be the beginning of a match, which stays in `tail`.
fn literals(wanted: &[u8], content: &[u8], tail: &mut Vec<u8>, ends: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut done = 0;
    while let Some(at) = found(&tail[done..], wanted) {
        out.extend_from_slice(&tail[done..done + at]);
        out.extend_from_slice(content);
        done += at + wanted.len();
    }
    let rest = &tail[done..];
    let longest = if ends { 0 } else { rest.len().min(wanted.len().saturating_sub(1)) };
    let held = (1..=longest).rev().find(|&n| rest.ends_with(&wanted[..n])).unwrap_or(0);
    let behind = tail.split_off(tail.len() - held);
    out.extend_from_slice(&tail[done..]);
    *tail = behind;
    out
}

fn found(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len().max(1)).position(|part| part == wanted)
}

/// The last space that nothing before it can take away, and that begins what goes, if anything.
fn last_cut(text: &[u8]) -> usize {
    let space = |end: usize| text[..end].iter().rposition(|&byte| byte == b' ');
    let mut at = space(text.len()).unwrap_or(0);
    while at > 0 && matches!(text[at - 1], b' ' | b'\'') {
        at = space(at).unwrap_or(0);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fed(stage: &mut Growing, parts: &[(&str, bool)]) -> Vec<String> {
        let one = |&(text, ends): &(&str, bool)| {
            let found = stage.push(Fragment { text: text.as_bytes().to_vec(), ends });
            assert_eq!(found.ends, ends);
            String::from_utf8(found.text).unwrap()
        };
        parts.iter().map(one).collect()
    }

    #[test]
    fn ends_wait_and_beginnings_go() {
        let mut stage = Growing::strip(0x6c, 2, 2);
        let parts =
            [("l", false), ("ll", false), ("x", false), ("ll", false), ("l", true), ("lx", true)];
        assert_eq!(fed(&mut stage, &parts), ["", "", "lx", "", "l", "x"]);
    }

    #[test]
    fn the_beginning_of_a_literal_waits() {
        let mut stage = Growing::literal(b"lol", b"-");
        let parts = [("alo", false), ("lo", false), ("x", false), ("lo", true), ("lol", true)];
        assert_eq!(fed(&mut stage, &parts), ["a", "-o", "x", "lo", "-"]);
    }

    #[test]
    fn words_come_with_the_next_space() {
        let mut stage = Growing::Tidied(Vec::new());
        let parts = [("it", false), (" '", false), ("s", false), (" on", false), (" ?", true)];
        assert_eq!(fed(&mut stage, &parts), ["", "it", "", "'s", " on?"]);
    }
}
