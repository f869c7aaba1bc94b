//! llama.cpp's search for special tokens: token by token, the longest first, each from the left.
//!
//! So a long token is found even where a shorter one begins further left. One pass over the text
//! finds which lengths occur at all, one more for each of them where its tokens are; memory is a
//! multiple of the text's length.

use std::collections::BTreeMap;

use super::added::{AddedToken, Found, Matcher};

/// Where each token found begins: its end and its number.
type Taken = BTreeMap<usize, (usize, usize)>;

/// The whole text in stretches, one after the other; a match that is not allowed is passed over.
pub fn partition(
    matcher: &Matcher,
    tokens: &[AddedToken],
    text: &[u8],
    allowed: impl Fn(usize, usize, usize) -> bool,
) -> Vec<Found> {
    let mut taken = Taken::new();
    for length in lengths(matcher, text) {
        for (number, start) in places(matcher, text, length) {
            let (number, start) = (number as usize, start as usize);
            if let Some((low, high)) = free(&taken, start, start + length, text.len()) {
                if allowed(number, start, start + length) {
                    let (start, end) = stripped(&tokens[number], text, (low, high), start, length);
                    taken.insert(start, (end, number));
                }
            }
        }
    }
    stretches(&taken, text.len())
}

/// Lengths of the tokens that occur, descending.
fn lengths(matcher: &Matcher, text: &[u8]) -> Vec<usize> {
    let mut seen: Vec<bool> = Vec::new();
    matcher.each(text, |_, _, length| {
        if seen.len() <= length {
            seen.resize(length + 1, false);
        }
        seen[length] = true;
    });
    (1..seen.len()).rev().filter(|&length| seen[length]).collect()
}

/// Tokens of one length and where they begin, in the order of tokens, then from the left.
fn places(matcher: &Matcher, text: &[u8], wanted: usize) -> Vec<(u32, u32)> {
    let mut out = Vec::new();
    matcher.each(text, |number, at, length| {
        if length == wanted {
            out.push((number as u32, at as u32));
        }
    });
    out.sort_unstable();
    out
}

/// The stretch around a match in which no token was found yet.
fn free(taken: &Taken, start: usize, end: usize, length: usize) -> Option<(usize, usize)> {
    let low = taken.range(..=start).next_back().map_or(0, |(_, &(end, _))| end);
    let high = taken.range(start + 1..).next().map_or(length, |(&start, _)| start);
    (low <= start && end <= high).then_some((low, high))
}

/// A match with the white space that it takes along.
fn stripped(
    token: &AddedToken,
    text: &[u8],
    (low, high): (usize, usize),
    start: usize,
    length: usize,
) -> (usize, usize) {
    let space = |byte: &&u8| matches!(**byte, b' ' | b'\t'..=b'\r');
    let end = start + length;
    let before = &text[if token.lstrip { low } else { start }..start];
    let behind = &text[end..if token.rstrip { high } else { end }];
    let left = before.iter().rev().take_while(space).count();
    (start - left, end + behind.iter().take_while(space).count())
}

fn stretches(taken: &Taken, length: usize) -> Vec<Found> {
    let mut out = Vec::with_capacity(2 * taken.len() + 1);
    let mut done = 0;
    for (&start, &(end, number)) in taken {
        if done < start {
            out.push((done, start, None));
        }
        out.push((start, end, Some(number)));
        done = end;
    }
    if done < length {
        out.push((done, length, None));
    }
    out
}
