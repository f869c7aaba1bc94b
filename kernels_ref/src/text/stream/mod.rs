//! Ids back to bytes and text as they come: what is certain at once, never half a character.
//!
//! What all calls give, joined, is what decoding gives for all ids at once. Bytes come once the
//! character that they belong to is whole, or once they cannot belong to one; the text follows the
//! source to the letter, so that within a run of byte tokens it waits for the end of the run.

mod chain;
mod growing;
mod whole;

use self::chain::{Chain, With};
use super::decode::{Decoded, Mode};
use super::decoder_texts::{from_bytes, to_bytes};
use super::decoders::Manner;
use super::pattern::Scratch;
use super::Tokenizer;
use crate::error::Result;
use std::rc::Rc;

/// Ids on their way to bytes and text.
pub struct Streaming<'a> {
    owner: Rc<Tokenizer<'a>>,
    mode: Mode,
    now: State,
    scratch: Scratch,
}

/// What is held back, and how many ids there were.
#[derive(Clone)]
struct State {
    exact: Chain,
    /// The text; a diagnostic one is made of the bytes.
    shown: Option<Chain>,
    /// Bytes that may still become a character.
    bytes: Vec<u8>,
    count: usize,
}

impl State {
    fn new(owner: &Tokenizer, mode: Mode) -> State {
        let clean = mode == Mode::Visible;
        let chain = |lossy| Chain::new(owner, Manner { lossy, clean });
        let shown = (mode != Mode::Diagnostic).then(|| chain(true));
        State { exact: chain(false), shown, bytes: Vec::new(), count: 0 }
    }

    /// What is certain once this text of a token is known.
    fn push(&mut self, text: Vec<u8>, owner: &Tokenizer, scratch: &mut Scratch) -> Decoded {
        let shown = self.shown.as_mut();
        let shown = shown.map(|chain| chain.push(text.clone(), With { owner, scratch }));
        self.bytes.extend(to_bytes(&self.exact.push(text, With { owner, scratch })));
        let behind = self.bytes.split_off(decided(&self.bytes));
        decoded(std::mem::replace(&mut self.bytes, behind), shown, owner)
    }

    fn finish(mut self, owner: &Tokenizer, scratch: &mut Scratch) -> Decoded {
        let shown = self.shown.as_mut().map(|chain| chain.finish(With { owner, scratch }));
        self.bytes.extend(to_bytes(&self.exact.finish(With { owner, scratch })));
        decoded(self.bytes, shown, owner)
    }
}

impl<'a> Streaming<'a> {
    /// Before the first id.
    pub fn new(owner: Rc<Tokenizer<'a>>, mode: Mode) -> Streaming<'a> {
        let now = State::new(&owner, mode);
        Streaming { owner, mode, now, scratch: Scratch::default() }
    }

    /// What is certain once these ids are known. After an error nothing has changed, and the stream
    /// goes on; its place counts all ids since the beginning. Only where a pattern takes too many
    /// steps it is at its beginning again.
    pub fn push(&mut self, ids: &[u32]) -> Result<Decoded> {
        let clean = self.mode == Mode::Visible;
        let texts = (self.now.count..).zip(ids);
        let texts = texts.map(|(index, &id)| self.owner.shown_text(id, index, clean));
        let texts = texts.collect::<Result<Vec<Option<Vec<u8>>>>>()?;
        self.now.count += texts.len();
        let mut out = Decoded::default();
        for text in texts.into_iter().flatten() {
            let one = self.now.push(text, &self.owner, &mut self.scratch);
            out.bytes.extend(one.bytes);
            out.text.extend(one.text);
        }
        if let Err(error) = self.scratch.checked() {
            self.now = State::new(&self.owner, self.mode);
            return Err(error);
        }
        Ok(out)
    }

    /// What is held back: what `flush` would give now.
    pub fn held(&mut self) -> Result<Decoded> {
        let held = self.now.clone().finish(&self.owner, &mut self.scratch);
        self.scratch.checked().map(|()| held)
    }

    /// All that was held back; the next id begins a new stream.
    pub fn flush(&mut self) -> Result<Decoded> {
        let fresh = State::new(&self.owner, self.mode);
        let last = std::mem::replace(&mut self.now, fresh).finish(&self.owner, &mut self.scratch);
        self.scratch.checked().map(|()| last)
    }
}

fn decoded(bytes: Vec<u8>, shown: Option<Vec<u8>>, owner: &Tokenizer) -> Decoded {
    let text = shown.unwrap_or_else(|| owner.escaped(&bytes));
    Decoded { bytes, text }
}

/// How many bytes are decided: what is behind them may still become a scalar.
fn decided(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Err(error) = std::str::from_utf8(&bytes[at..]) {
        at += error.valid_up_to();
        match error.error_len() {
            Some(stray) => at += stray,
            None => return at,
        }
    }
    bytes.len()
}

/// Take what is decided off the front, as text.
fn taken(bytes: &mut Vec<u8>, lossy: bool) -> Vec<u8> {
    let behind = bytes.split_off(decided(bytes));
    from_bytes(&std::mem::replace(bytes, behind), lossy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_wait_only_for_a_scalar() {
        for (bytes, at) in [
            (&b""[..], 0),
            (b"a\xc3", 1),
            (b"a\xc3\xa9", 3),
            (b"\xf0\x9f\x99", 0),
            (b"\xff\xe2\x82", 1),
            (b"\xe2\x82x", 3),
            (b"\xed\xa0", 2),
            (b"\xe0\x80", 2),
            (b"\xf4\x8f", 0),
            (b"\xf4\x90", 2),
        ] {
            assert_eq!(decided(bytes), at, "{:?}", bytes);
        }
    }

    #[test]
    fn what_is_decided_goes() {
        let mut bytes = b"\xffa\xe2\x82".to_vec();
        assert_eq!(taken(&mut bytes, true), "\u{fffd}a".as_bytes());
        assert_eq!(bytes, b"\xe2\x82");
    }
}
