//! Stages that take whole texts, and what they hold back between two of them.

use super::chain::{Fragment, With};
use super::taken;
use crate::text::decoder_texts::{from_bytes, named_byte, replaced};
use crate::text::decoders::{byte_run, visible_joined, Decoder, Manner};
use crate::text::pieces::piece_bytes;
use crate::text::sentencepiece::decoding::{shown, Run};

/// One stage.
#[derive(Clone)]
pub enum Whole {
    /// No decoder: a space before every text but the first.
    Spaced(bool),
    /// Bytes of visible characters that are no scalar yet.
    Bytes(Vec<u8>),
    /// Bytes of tokens by their kind.
    Pieces {
        /// Visible characters stand for bytes.
        visible: bool,
        /// One space goes from the next token.
        strip: bool,
        /// Those that are no scalar yet.
        bytes: Vec<u8>,
    },
    /// A run of byte tokens with every byte kept.
    Run {
        /// There is one.
        open: bool,
        /// Those that are no scalar yet.
        bytes: Vec<u8>,
    },
    /// A run of byte tokens as the source shows it: one bad byte spoils all of it.
    LossyRun(Vec<u8>),
    /// A decoder that looks at one text at a time, and knows only whether it is the first.
    Each {
        /// Its number.
        decoder: usize,
        /// The next text is the first one.
        first: bool,
    },
    /// A suffix is a space, but not in the last text: each waits for the next one.
    Suffixed {
        /// The suffix.
        suffix: Vec<u8>,
        /// The text that waits.
        last: Option<Vec<u8>>,
    },
    /// A text that repeats the one before it is left out.
    Unrepeated {
        /// The number of the decoder for the others.
        decoder: usize,
        /// The one before.
        last: Option<Vec<u8>>,
    },
    /// Pieces of SentencePiece.
    Sentence {
        /// The number of their decoder.
        decoder: usize,
        /// What it goes by.
        run: Run,
        /// Those that are no scalar yet; as the source shows it, those of a run of byte pieces.
        bytes: Vec<u8>,
    },
    /// A decoder that has to see all texts.
    AtEnd {
        /// Its number.
        decoder: usize,
        /// The texts so far.
        texts: Vec<Vec<u8>>,
    },
}

impl Whole {
    /// What follows from one whole text.
    pub fn one(&mut self, text: Vec<u8>, manner: Manner, with: &mut With, out: &mut Vec<Fragment>) {
        match self {
            Whole::Spaced(between) => {
                let space: &[u8] = if std::mem::replace(between, true) { b" " } else { b"" };
                out.push(Fragment::last([space, &text].concat()));
            }
            Whole::Bytes(bytes) => {
                bytes.extend(visible_joined(&[text]));
                out.push(Fragment::open(taken(bytes, manner.lossy)));
            }
            Whole::Pieces { visible, strip, bytes } => {
                let mut found = Vec::new();
                piece_bytes(&text, *visible, &with.owner.tools(), &mut found);
                let strips = std::mem::take(strip) && found.first() == Some(&b' ');
                bytes.extend_from_slice(&found[usize::from(strips)..]);
                out.push(Fragment::open(taken(bytes, manner.lossy)));
            }
            Whole::Run { open, bytes } => match named_byte(&text) {
                Some(byte) => {
                    *open = true;
                    bytes.push(byte);
                    out.push(Fragment::open(taken(bytes, false)));
                }
                None => self.behind_run(text, manner, with, out),
            },
            Whole::LossyRun(run) => match named_byte(&text) {
                Some(byte) => run.push(byte),
                None => self.behind_run(text, manner, with, out),
            },
            Whole::Each { decoder, first } => {
                let texts = if *first { vec![text] } else { vec![Vec::new(), text] };
                *first = false;
                out.extend(applied(*decoder, texts, manner, with).pop().map(Fragment::last));
            }
            Whole::Suffixed { suffix, last } => {
                let before = last.replace(text);
                out.extend(before.map(|text| Fragment::last(replaced(&text, suffix, b" "))));
            }
            Whole::Unrepeated { decoder, last } => {
                if last.as_ref() != Some(&text) {
                    let found = applied(*decoder, vec![text.clone()], manner, with);
                    out.extend(found.into_iter().map(Fragment::last));
                }
                *last = Some(text);
            }
            Whole::Sentence { decoder, run, bytes } => {
                if let Decoder::Sentence(decoder) = &with.owner.decoders[*decoder] {
                    let in_bytes = run.in_bytes;
                    let found = decoder.take(run, &text, manner.clean, &with.owner.tools());
                    out.push(Fragment::open(match manner.lossy {
                        false => {
                            bytes.extend(found);
                            taken(bytes, false)
                        }
                        true if run.in_bytes => {
                            bytes.extend(found);
                            Vec::new()
                        }
                        true if in_bytes => [shown(&std::mem::take(bytes)), shown(&found)].concat(),
                        true => shown(&found),
                    }));
                }
            }
            Whole::AtEnd { texts, .. } => texts.push(text),
        }
    }

    /// A text that is no byte ends a run.
    fn behind_run(
        &mut self,
        text: Vec<u8>,
        manner: Manner,
        with: &mut With,
        out: &mut Vec<Fragment>,
    ) {
        self.finish(manner, with, out);
        out.push(Fragment::last(text));
    }

    /// What is left when no text follows.
    pub fn finish(&mut self, manner: Manner, with: &mut With, out: &mut Vec<Fragment>) {
        match self {
            Whole::Spaced(_) | Whole::Each { .. } | Whole::Unrepeated { .. } => {}
            Whole::Bytes(bytes) | Whole::Pieces { bytes, .. } => {
                let rest = std::mem::take(bytes);
                out.push(Fragment::last(from_bytes(&rest, manner.lossy)));
            }
            Whole::Run { open, bytes } => {
                let rest = std::mem::take(bytes);
                if std::mem::take(open) {
                    out.push(Fragment::last(from_bytes(&rest, false)));
                }
            }
            Whole::LossyRun(run) => {
                let mut texts = Vec::new();
                byte_run(run, true, &mut texts);
                out.extend(texts.into_iter().map(Fragment::last));
            }
            Whole::Suffixed { suffix, last } => {
                let text = last.take();
                out.extend(text.map(|text| Fragment::last(replaced(&text, suffix, b""))));
            }
            Whole::Sentence { bytes, .. } => {
                let rest = std::mem::take(bytes);
                let rest = if manner.lossy { shown(&rest) } else { from_bytes(&rest, false) };
                out.push(Fragment::last(rest));
            }
            Whole::AtEnd { decoder, texts } => {
                let texts = std::mem::take(texts);
                out.extend(applied(*decoder, texts, manner, with).into_iter().map(Fragment::last));
            }
        }
    }
}

fn applied(decoder: usize, texts: Vec<Vec<u8>>, manner: Manner, with: &mut With) -> Vec<Vec<u8>> {
    let owner = with.owner;
    owner.decoders[decoder].apply(texts, manner, &owner.tools(), with.scratch)
}
