//! User-defined symbols: pieces that text becomes wherever they occur.

use super::kinds::USER_DEFINED;
use crate::text::crc32::Crc;
use crate::text::scalars::continues;
use crate::text::vocabulary::Vocabulary;

/// The source looks at so many matches, the shortest first.
const SEEN: usize = 64;

/// The symbols of a vocabulary.
#[derive(Clone)]
pub struct Symbols<'a> {
    kinds: &'a [u8],
    /// Bytes of the longest symbol by its first byte.
    longest: Box<[u16; 256]>,
}

impl<'a> Symbols<'a> {
    /// Look through all pieces once; `kinds` are theirs by id.
    pub fn new(vocabulary: &Vocabulary, kinds: &'a [u8]) -> Symbols<'a> {
        let longest = longest(vocabulary, |id| kinds[id as usize] == USER_DEFINED);
        Symbols { kinds, longest }
    }

    /// Bytes of the longest symbol that begins at a place; 0 for none.
    #[inline]
    pub fn length(&self, vocabulary: &Vocabulary, text: &[u8], at: usize) -> usize {
        match usize::from(self.longest[usize::from(text[at])]) {
            0 => 0,
            most => self.search(vocabulary, &text[at..], most),
        }
    }

    fn search(&self, vocabulary: &Vocabulary, text: &[u8], most: usize) -> usize {
        let (mut found, mut seen) = (0, 0);
        let mut crc = Crc::new();
        for end in 1..=text.len().min(most) {
            crc = crc.with(text[end - 1]);
            if text.get(end).map_or(false, |&byte| continues(byte)) {
                continue;
            }
            let id = vocabulary.find_hashed(crc.value(), &text[..end]);
            if id.map_or(false, |id| self.kinds[id as usize] == USER_DEFINED) {
                found = end;
                seen += 1;
                if seen == SEEN {
                    break;
                }
            }
        }
        found
    }
}

/// Bytes of the longest piece that is wanted, by its first byte.
pub fn longest(vocabulary: &Vocabulary, wanted: impl Fn(u32) -> bool) -> Box<[u16; 256]> {
    let mut longest = Box::new([0u16; 256]);
    vocabulary.each(|token, id| {
        if let Some(&first) = token.first().filter(|_| wanted(id)) {
            let most = &mut longest[usize::from(first)];
            *most = (*most).max(token.len() as u16);
        }
    });
    longest
}
