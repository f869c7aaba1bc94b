//! `format` with plain fields: `{}`, `{0}`, `{name}`; nothing is walked or converted.

use crate::chat::arguments::Arguments;
use crate::chat::error::{refused, unsupported};
use crate::chat::printing::{quoted, to_text};
use crate::chat::state::Run;
use crate::chat::text::Text;
use crate::chat::value::Value;
use crate::error::Result;

const NO_FORMAT: &str = "ValueError: the text is no format";

/// `text.format(…)`.
pub fn format(text: &Text, given: &Arguments, run: &mut Run) -> Result<Value> {
    let (held, owner) = (text.characters(), text.owner());
    let (mut pieces, mut at, mut automatic) = (Vec::new(), 0, 0);
    while at < held.len() {
        let (literal, next, field) = literal(held, at)?;
        pieces.push(Text::of(literal, owner));
        at = next;
        if field {
            let (name, plain, next) = field_at(held, at)?;
            at = next;
            if !plain || !is_plain(&name) {
                return unsupported(format!("the format field {}", quoted(&name)));
            }
            let value = argument(&name, &mut automatic, given)?;
            pieces.push(to_text(value, run)?);
        }
    }
    run.budget.text(pieces.iter().map(|piece| piece.len() as u64).sum())?;
    Text::joined(&pieces).map(Value::Text)
}

/// Characters up to the next field or doubled brace, the place behind, and whether a field follows.
fn literal(held: &[char], from: usize) -> Result<(Vec<char>, usize, bool)> {
    let found = held[from..].iter().position(|&c| c == '{' || c == '}');
    let at = match found {
        Some(at) => from + at,
        None => return Ok((held[from..].to_vec(), held.len(), false)),
    };
    if held.get(at + 1) == Some(&held[at]) {
        return Ok((held[from..=at].to_vec(), at + 2, false));
    }
    if held[at] == '}' || at + 1 == held.len() {
        return refused(NO_FORMAT);
    }
    Ok((held[from..at].to_vec(), at + 1, true))
}

/// Name of a field, whether it stands alone without conversion or width, and the place behind.
fn field_at(held: &[char], from: usize) -> Result<(String, bool, usize)> {
    let (mut at, mut end) = (from, None);
    while let Some(&c) = held.get(at) {
        match c {
            '{' => return refused(NO_FORMAT),
            '[' => {
                let close = held[at..].iter().position(|&c| c == ']');
                at += close.map_or(held.len() - at, |len| len + 1);
            }
            '}' | ':' | '!' => {
                end = Some(c);
                break;
            }
            _ => at += 1,
        }
    }
    let name: String = held[from..at].iter().collect();
    match end {
        Some('}') => Ok((name, true, at + 1)),
        None => refused(NO_FORMAT),
        _ => specification(held, at).map(|(empty, next)| (name, empty, next)),
    }
}

/// What follows `!` or `:` at `at`: whether it says nothing, and the place behind the field.
fn specification(held: &[char], at: usize) -> Result<(bool, usize)> {
    let mut from = at + 1;
    let converted = held[at] == '!';
    if converted {
        if from >= held.len() {
            return refused(NO_FORMAT);
        }
        from += 1;
        match held.get(from) {
            Some('}') => return Ok((false, from + 1)),
            Some(':') => from += 1,
            Some(_) => return refused(NO_FORMAT),
            None => {}
        }
    }
    let mut open = 1;
    for (next, &c) in held.iter().enumerate().skip(from) {
        open += i32::from(c == '{') - i32::from(c == '}');
        if open == 0 {
            return Ok((!converted && next == from, next + 1));
        }
    }
    refused(NO_FORMAT)
}

fn is_number(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_plain(name: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let begins = !name.as_bytes().first().map_or(false, u8::is_ascii_digit);
    is_number(name) || (begins && name.bytes().all(word))
}

/// The value of a field; one without a name takes the next by place.
fn argument<'g>(name: &str, automatic: &mut usize, given: &'g Arguments) -> Result<&'g Value> {
    let found = if name.is_empty() {
        *automatic += 1;
        given.args.get(*automatic - 1)
    } else if is_number(name) {
        name.parse().ok().and_then(|at: usize| given.args.get(at))
    } else {
        given.named.iter().find(|row| *row.0 == *name).map(|row| &row.1)
    };
    match found {
        Some(value) => Ok(value),
        None => refused(format!("LookupError: the format field {}", quoted(name))),
    }
}
