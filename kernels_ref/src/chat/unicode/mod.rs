//! Characters and cases as Python's `str` has them, whatever Unicode the compiler's library knows.

mod cases;
mod classes;

fn within(table: &[(u32, u32)], c: char) -> bool {
    let code = c as u32;
    table
        .binary_search_by(|&(first, last)| {
            if last < code {
                std::cmp::Ordering::Less
            } else if first > code {
                std::cmp::Ordering::Greater
            } else {
                std::cmp::Ordering::Equal
            }
        })
        .is_ok()
}

/// `str.isspace` of one character.
pub fn is_space(c: char) -> bool {
    matches!(c, '\t'..='\r' | '\u{1c}'..=' ' | '\u{85}' | '\u{a0}' | '\u{1680}'
        | '\u{2000}'..='\u{200a}' | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

/// A boundary of `str.splitlines`.
pub fn is_line_end(c: char) -> bool {
    matches!(c, '\n'..='\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// `str.isalpha` of one character.
pub fn is_alphabetic(c: char) -> bool {
    within(classes::ALPHABETIC, c)
}

/// `str.isnumeric` of one character.
pub fn is_numeric(c: char) -> bool {
    within(classes::NUMERIC, c)
}

/// `str.isalnum` of one character.
pub fn is_alphanumeric(c: char) -> bool {
    is_alphabetic(c) || is_numeric(c)
}

/// `str.isdigit` of one character.
pub fn is_digit(c: char) -> bool {
    within(classes::DIGIT, c)
}

/// `str.islower` of one character.
pub fn is_lower(c: char) -> bool {
    within(classes::LOWERCASE, c)
}

/// `str.isupper` of one character.
pub fn is_upper(c: char) -> bool {
    within(classes::UPPERCASE, c)
}

/// One of the few characters that are a capital and a small letter at once.
pub fn is_title(c: char) -> bool {
    within(classes::TITLECASE, c)
}

/// True where `repr` prints the character itself.
pub fn is_printable(c: char) -> bool {
    !within(classes::UNPRINTABLE, c)
}

fn is_cased(c: char) -> bool {
    is_lower(c) || is_upper(c) || is_title(c)
}

/// The value of a decimal digit of any script.
pub fn decimal(c: char) -> Option<u8> {
    let code = c as u32;
    let at = classes::ZERO.partition_point(|&zero| zero <= code);
    let zero = *classes::ZERO.get(at.checked_sub(1)?)?;
    u8::try_from(code - zero).ok().filter(|&digit| digit < 10)
}

type Runs = &'static [(u32, u32, u32, i32)];
type Several = &'static [(u32, &'static str)];

/// What a table makes of a character, or None where it does not name it.
fn mapped(c: char, runs: Runs, several: Several, out: &mut Vec<char>) -> Option<()> {
    let code = c as u32;
    if let Ok(at) = several.binary_search_by_key(&code, |row| row.0) {
        out.extend(several[at].1.chars());
        return Some(());
    }
    let at = runs.partition_point(|row| row.0 <= code).checked_sub(1)?;
    let (first, last, step, distance) = runs[at];
    if code > last || (code - first) % step != 0 {
        return None;
    }
    out.push(char::from_u32((code as i32 + distance) as u32)?);
    Some(())
}

fn push_lower(c: char, out: &mut Vec<char>) {
    if mapped(c, cases::LOWER, cases::LOWER_SEVERAL, out).is_none() {
        out.push(c);
    }
}

fn push_upper(c: char, out: &mut Vec<char>) {
    if mapped(c, cases::UPPER, cases::UPPER_SEVERAL, out).is_none() {
        out.push(c);
    }
}

fn push_title(c: char, out: &mut Vec<char>) {
    if mapped(c, cases::TITLE, cases::TITLE_SEVERAL, out).is_none() {
        push_upper(c, out);
    }
}

/// Lower case of the character at `at`: a capital sigma at the end of a word has a form of its own.
fn push_lower_at(text: &[char], at: usize, out: &mut Vec<char>) {
    if text[at] == '\u{3a3}' {
        out.push(if ends_word(text, at) { '\u{3c2}' } else { '\u{3c3}' });
    } else {
        push_lower(text[at], out);
    }
}

fn ends_word(text: &[char], at: usize) -> bool {
    let seen = |c: &&char| !within(classes::CASE_IGNORABLE, **c);
    let before = text[..at].iter().rev().find(seen).map_or(false, |&c| is_cased(c));
    before && !text[at + 1..].iter().find(seen).map_or(false, |&c| is_cased(c))
}

/// `str.lower`.
pub fn lower(text: &[char]) -> Vec<char> {
    let mut out = Vec::with_capacity(text.len());
    (0..text.len()).for_each(|at| push_lower_at(text, at, &mut out));
    out
}

/// `str.upper`.
pub fn upper(text: &[char]) -> Vec<char> {
    let mut out = Vec::with_capacity(text.len());
    text.iter().for_each(|&c| push_upper(c, &mut out));
    out
}

/// `str.capitalize`.
pub fn capitalize(text: &[char]) -> Vec<char> {
    let mut out = Vec::with_capacity(text.len());
    for at in 0..text.len() {
        if at == 0 {
            push_title(text[0], &mut out);
        } else {
            push_lower_at(text, at, &mut out);
        }
    }
    out
}

/// `str.title`.
pub fn title(text: &[char]) -> Vec<char> {
    let mut out = Vec::with_capacity(text.len());
    let mut inside = false;
    for (at, &c) in text.iter().enumerate() {
        if inside {
            push_lower_at(text, at, &mut out);
        } else {
            push_title(c, &mut out);
        }
        inside = is_cased(c);
    }
    out
}

/// Number of characters that the lower and the upper case of one character have.
pub fn widths(c: char) -> (usize, usize) {
    let (mut low, mut high) = (Vec::new(), Vec::new());
    push_lower(c, &mut low);
    push_upper(c, &mut high);
    (low.len(), high.len())
}

/// `str.islower` (and `str.isupper` with `wanted` and `other` exchanged).
fn all_of_case(text: &[char], wanted: fn(char) -> bool, other: fn(char) -> bool) -> bool {
    text.iter().any(|&c| wanted(c)) && !text.iter().any(|&c| other(c) || is_title(c))
}

/// `str.islower`.
pub fn is_lower_text(text: &[char]) -> bool {
    all_of_case(text, is_lower, is_upper)
}

/// `str.isupper`.
pub fn is_upper_text(text: &[char]) -> bool {
    all_of_case(text, is_upper, is_lower)
}
