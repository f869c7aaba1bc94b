//! What templates do on text (strip, split, replace, case), with the owners carried along.

use crate::chat::text::{room, Text, TEMPLATE};
use crate::chat::unicode;
use crate::error::Result;

/// The first place of `needle` at or behind `from`, in linear time.
pub fn find(held: &[char], needle: &[char], from: usize) -> Option<usize> {
    if needle.len() <= 1 {
        let rest = held.get(from..)?;
        return match needle.first() {
            None => Some(from),
            Some(c) => rest.iter().position(|held| held == c).map(|at| from + at),
        };
    }
    let borders = borders(needle);
    let mut matched = 0;
    for (at, c) in held.iter().enumerate().skip(from) {
        while matched > 0 && needle[matched] != *c {
            matched = borders[matched - 1];
        }
        matched += usize::from(needle[matched] == *c);
        if matched == needle.len() {
            return Some(at + 1 - matched);
        }
    }
    None
}

/// For each prefix the length of its longest proper border.
fn borders(needle: &[char]) -> Vec<usize> {
    let mut made = vec![0; needle.len()];
    let mut matched = 0;
    for at in 1..needle.len() {
        while matched > 0 && needle[matched] != needle[at] {
            matched = made[matched - 1];
        }
        matched += usize::from(needle[matched] == needle[at]);
        made[at] = matched;
    }
    made
}

/// All places of `needle` that do not overlap, from the front.
fn places(held: &[char], needle: &[char], most: usize) -> Vec<usize> {
    let (mut found, mut from) = (Vec::new(), 0);
    while found.len() < most {
        match find(held, needle, from) {
            Some(at) => {
                found.push(at);
                from = at + needle.len();
            }
            None => break,
        }
    }
    found
}

/// All places from the back, ascending.
fn places_back(held: &[char], needle: &[char], most: usize) -> Vec<usize> {
    let reversed = |text: &[char]| text.iter().rev().copied().collect::<Vec<char>>();
    let found = places(&reversed(held), &reversed(needle), most);
    found.iter().rev().map(|at| held.len() - at - needle.len()).collect()
}

/// How often a text that is not empty occurs.
pub fn count(held: &[char], needle: &[char]) -> usize {
    places(held, needle, usize::MAX).len()
}

/// The last place of a text that is not empty.
pub fn find_back(held: &[char], needle: &[char]) -> Option<usize> {
    places_back(held, needle, 1).first().copied()
}

/// A limit that is none where it is negative.
pub fn most(limit: i64) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

/// `strip` and its halves: white space, or the given characters.
pub fn strip(text: &Text, given: Option<&[char]>, left: bool, right: bool) -> Result<Text> {
    let goes = |c: &char| given.map_or_else(|| unicode::is_space(*c), |given| given.contains(c));
    let held = text.characters();
    let start = if left { held.iter().position(|c| !goes(c)).unwrap_or(held.len()) } else { 0 };
    let kept = held[start..].iter().rposition(|c| !goes(c)).map_or(0, |at| at + 1);
    text.slice(start..if right { start + kept } else { held.len() })
}

/// Stretches that a text consists of.
fn slices(text: &Text, ranges: &[(usize, usize)]) -> Result<Vec<Text>> {
    ranges.iter().map(|&(start, end)| text.slice(start..end)).collect()
}

/// The stretches between places that are `gap` long.
fn between(text: &Text, places: &[usize], gap: usize) -> Result<Vec<Text>> {
    let (mut ranges, mut from) = (Vec::new(), 0);
    for &at in places {
        ranges.push((from, at));
        from = at + gap;
    }
    ranges.push((from, text.len()));
    slices(text, &ranges)
}

/// `split` by a text that is not empty.
pub fn split(text: &Text, by: &[char], most: usize) -> Result<Vec<Text>> {
    between(text, &places(text.characters(), by, most), by.len())
}

/// `rsplit` by a text that is not empty.
pub fn split_back(text: &Text, by: &[char], most: usize) -> Result<Vec<Text>> {
    between(text, &places_back(text.characters(), by, most), by.len())
}

/// `split` by white space.
pub fn words(text: &Text, most: usize) -> Result<Vec<Text>> {
    let held = text.characters();
    let next = |from: usize, space: bool| {
        let rest = held[from..].iter().position(|&c| unicode::is_space(c) == space);
        rest.map_or(held.len(), |at| from + at)
    };
    let (mut ranges, mut at) = (Vec::new(), next(0, false));
    while at < held.len() && ranges.len() < most {
        let end = next(at, true);
        ranges.push((at, end));
        at = next(end, false);
    }
    if at < held.len() {
        ranges.push((at, held.len()));
    }
    slices(text, &ranges)
}

/// `rsplit` by white space.
pub fn words_back(text: &Text, most: usize) -> Result<Vec<Text>> {
    let held = text.characters();
    let back = |to: usize, space: bool| {
        held[..to].iter().rposition(|&c| unicode::is_space(c) == space).map_or(0, |at| at + 1)
    };
    let (mut ranges, mut at) = (Vec::new(), back(held.len(), false));
    while at > 0 && ranges.len() < most {
        let start = back(at, true);
        ranges.push((start, at));
        at = back(start, false);
    }
    if at > 0 {
        ranges.push((0, at));
    }
    ranges.reverse();
    slices(text, &ranges)
}

/// Ranges of lines: start, end, end with the boundary.
fn lines(held: &[char]) -> Vec<(usize, usize, usize)> {
    let (mut found, mut from) = (Vec::new(), 0);
    while from < held.len() {
        let end = held[from..].iter().position(|&c| unicode::is_line_end(c));
        let end = end.map_or(held.len(), |at| from + at);
        let pair = held[end..].starts_with(&['\r', '\n']);
        let next = held.len().min(end + 1 + usize::from(pair));
        found.push((from, end, next));
        from = next;
    }
    found
}

/// `splitlines`.
pub fn split_lines(text: &Text, keep_ends: bool) -> Result<Vec<Text>> {
    let found = lines(text.characters());
    let ranges = found.iter().map(|&(from, end, next)| (from, if keep_ends { next } else { end }));
    slices(text, &ranges.collect::<Vec<_>>())
}

/// `partition` and `rpartition` by a text that is not empty.
pub fn partition(text: &Text, by: &[char], last: bool) -> Result<Vec<Text>> {
    let held = text.characters();
    let found = if last { find_back(held, by) } else { find(held, by, 0) };
    let (start, end) = match found {
        Some(at) => (at, at + by.len()),
        None if last => (0, 0),
        None => (held.len(), held.len()),
    };
    slices(text, &[(0, start), (start, end), (end, held.len())])
}

/// `replace`; the new text keeps its own owners.
pub fn replace(text: &Text, old: &[char], new: &Text, most: usize) -> Result<Text> {
    if old.is_empty() {
        return interleaved(text, new, most);
    }
    let pieces = split(text, old, most)?;
    let mut mixed = Vec::new();
    for piece in pieces {
        mixed.push(new.clone());
        mixed.push(piece);
    }
    Text::joined(&mixed[1..])
}

/// The new text before each character and at the end, so often; all of one owner.
fn interleaved(text: &Text, new: &Text, most: usize) -> Result<Text> {
    let times = most.min(text.len() + 1);
    let mut made = room(text.len() + times * new.len())?;
    for (at, &c) in text.characters().iter().enumerate() {
        if at < times {
            made.extend_from_slice(new.characters());
        }
        made.push(c);
    }
    if times > text.len() {
        made.extend_from_slice(new.characters());
    }
    Ok(Text::of(made, text.owner().max(new.owner())))
}

/// `lower`.
pub fn lower(text: &Text) -> Text {
    cased(text, unicode::lower(text.characters()), |c| unicode::widths(c).0)
}

/// `upper`; one character may become several.
pub fn upper(text: &Text) -> Text {
    cased(text, unicode::upper(text.characters()), |c| unicode::widths(c).1)
}

fn cased(text: &Text, made: Vec<char>, width: impl Fn(char) -> usize) -> Text {
    if text.characters().iter().all(char::is_ascii) {
        return text.respelled(made);
    }
    let mut owners = Vec::with_capacity(made.len());
    for (&c, &owner) in text.characters().iter().zip(text.owners()) {
        owners.resize(owners.len() + width(c), owner);
    }
    if owners.len() == made.len() {
        Text::new(made, owners)
    } else {
        Text::of(made, text.owner())
    }
}

/// A change of the whole text: owners stay where the length does.
fn whole(text: &Text, made: Vec<char>) -> Text {
    if made.len() == text.len() {
        text.respelled(made)
    } else {
        Text::of(made, text.owner())
    }
}

/// `capitalize`.
pub fn capitalize(text: &Text) -> Text {
    whole(text, unicode::capitalize(text.characters()))
}

/// `title`.
pub fn title(text: &Text) -> Text {
    whole(text, unicode::title(text.characters()))
}

/// The filter `title`: a word begins after white space or one of - ( { [ <.
pub fn title_words(text: &Text) -> Text {
    let parts = |c: char| unicode::is_space(c) || "-({[<".contains(c);
    let (held, mut made, mut at) = (text.characters(), Vec::new(), 0);
    while at < held.len() {
        let kind = parts(held[at]);
        let end = held[at..].iter().position(|&c| parts(c) != kind);
        let end = end.map_or(held.len(), |len| at + len);
        made.extend(unicode::upper(&held[at..at + 1]));
        made.extend(unicode::lower(&held[at + 1..end]));
        at = end;
    }
    whole(text, made)
}

/// The filter `indent`: all lines but the first, no empty ones.
pub fn indent(text: &Text, pad: &Text, first: bool, blank: bool) -> Result<Text> {
    let newline = Text::from_str("\n", TEMPLATE);
    let held = split_lines(&Text::joined(&[text.clone(), newline.clone()])?, false)?;
    let mut pieces = if first { vec![pad.clone()] } else { Vec::new() };
    for (at, line) in held.into_iter().enumerate() {
        if at > 0 {
            pieces.push(newline.clone());
            if blank || !line.is_empty() {
                pieces.push(pad.clone());
            }
        }
        pieces.push(line);
    }
    Text::joined(&pieces)
}

/// Number of lines of `splitlines`.
pub fn count_lines(text: &Text) -> usize {
    lines(text.characters()).len()
}

/// HTML escapes, each owned like the character it stands for.
pub fn escaped(text: &Text) -> Text {
    let (mut made, mut owners) = (Vec::new(), Vec::new());
    for (&c, &owner) in text.characters().iter().zip(text.owners()) {
        match c {
            '&' => made.extend("&amp;".chars()),
            '<' => made.extend("&lt;".chars()),
            '>' => made.extend("&gt;".chars()),
            '\'' => made.extend("&#39;".chars()),
            '"' => made.extend("&#34;".chars()),
            c => made.push(c),
        }
        owners.resize(made.len(), owner);
    }
    Text::new(made, owners)
}
