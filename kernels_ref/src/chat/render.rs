//! A conversation through a compiled template: text, and whose each byte is.

use crate::chat::execute::execute;
use crate::chat::input::Input;
use crate::chat::ir::{Index, Template};
use crate::chat::state::State;
use crate::chat::text::{Text, BOS, EOS, PREFIX, TEMPLATE};
use crate::chat::text_operations::find;
use crate::chat::value::Value;
use crate::error::Result;

/// Rendered text; the runs cover its bytes without gaps.
pub struct Rendered {
    /// The text.
    pub text: String,
    /// Start, end and owner of each run: 0 template, 1 content, 2 bos, 3 eos, 4 generation prefix.
    pub runs: Vec<u32>,
}

/// Render a conversation, given as JSON, from the compiled template alone.
pub fn render(template: &Template, conversation: &[u8]) -> Result<Rendered> {
    let input = Input::read(conversation)?;
    let tokens = [("bos_token", BOS), ("eos_token", EOS)]
        .map(|(name, owner)| (input.variables.get(name).cloned(), owner));
    let mut state = State::new(template, input.variables, input.clock);
    state.begin();
    // Reading a template has shown that its root leaves no loop.
    let _ = execute(&mut state, (template.nodes.len() - 1) as Index)?;
    let text = state.end()?;
    let mut owners = text.owners().to_vec();
    for (token, owner) in &tokens {
        if let Some(Value::Text(token)) = token {
            mark(&text, &mut owners, token.characters(), *owner);
        }
    }
    Ok(Rendered { text: text.string(), runs: runs(&text, &owners) })
}

/// A special token that the template spells out is that token, not just text.
fn mark(text: &Text, owners: &mut [u8], token: &[char], owner: u8) {
    let mut from = 0;
    while let Some(at) = find(text.characters(), token, from).filter(|_| !token.is_empty()) {
        from = at + token.len();
        let here = &mut owners[at..from];
        if here.iter().all(|&owner| owner == TEMPLATE || owner == PREFIX) {
            here.fill(owner);
        }
    }
}

/// Maximal runs of one owner, in bytes.
fn runs(text: &Text, owners: &[u8]) -> Vec<u32> {
    let (mut rows, mut start, mut end) = (Vec::new(), 0, 0);
    for (at, c) in text.characters().iter().enumerate() {
        end += c.len_utf8() as u32;
        if owners.get(at + 1) != Some(&owners[at]) {
            rows.extend([start, end, u32::from(owners[at])]);
            start = end;
        }
    }
    rows
}
