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

#[cfg(test)]
mod tests {
    use super::*;

    fn token(content: &'static str, lstrip: bool, rstrip: bool) -> AddedToken<'static> {
        AddedToken {
            id: 0,
            content: content.as_bytes(),
            single_word: false,
            lstrip,
            rstrip,
            normalized: false,
            special: true,
        }
    }

    fn found(tokens: &[AddedToken], text: &str, passed: usize) -> Vec<(String, Option<usize>)> {
        let matcher = Matcher::new(tokens.iter().map(|t| t.content.to_vec()).zip(0..));
        let parts = partition(&matcher, tokens, text.as_bytes(), |_, start, _| start != passed);
        let shown = |(start, end, number): Found| (text[start..end].to_string(), number);
        parts.into_iter().map(shown).collect()
    }

    fn rows(wanted: &[(&str, Option<usize>)]) -> Vec<(String, Option<usize>)> {
        wanted.iter().map(|&(text, number)| (text.to_string(), number)).collect()
    }

    #[test]
    fn the_longest_first_then_by_rows_then_from_the_left() {
        let tokens = ["ab", "bcd", "cd", "dd"].map(|text| token(text, false, false));
        let wanted = [("a", None), ("bcd", Some(1)), ("dd", Some(3)), ("ab", Some(0)), ("c", None)];
        assert_eq!(found(&tokens, "abcdddabc", usize::MAX), rows(&wanted));
        let wanted = [("x", None), ("cd", Some(2)), ("d", None)];
        assert_eq!(found(&tokens, "xcdd", usize::MAX), rows(&wanted));
        assert_eq!(found(&tokens, "", usize::MAX), []);
    }

    #[test]
    fn a_match_that_is_not_allowed_hides_none_behind_it() {
        let tokens = [token("aa", false, false)];
        let wanted = [("a", None), ("aa", Some(0))];
        assert_eq!(found(&tokens, "aaa", 0), rows(&wanted));
    }

    #[test]
    fn white_space_is_taken_within_the_piece() {
        let tokens = [token("<long>", false, true), token("<s>", true, true)];
        let text = "<long> \t <s>\n <s>\u{a0}";
        let wanted =
            [("<long> \t ", Some(0)), ("<s>\n ", Some(1)), ("<s>", Some(1)), ("\u{a0}", None)];
        assert_eq!(found(&tokens, text, usize::MAX), rows(&wanted));
    }
}
