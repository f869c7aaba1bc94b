//! Text in which every character has an owner, through all operations that templates do on text.

use std::cmp::Ordering;
use std::ops::Range;
use std::rc::Rc;

use crate::chat::error::short_of_memory;
use crate::error::Result;

/// What the template spells out.
pub const TEMPLATE: u8 = 0;
/// What came from the caller, and what nobody claims.
pub const CONTENT: u8 = 1;
/// The variable `bos_token`.
pub const BOS: u8 = 2;
/// The variable `eos_token`.
pub const EOS: u8 = 3;
/// What the template writes for a generation prompt alone.
pub const PREFIX: u8 = 4;

struct Held {
    characters: Vec<char>,
    owners: Vec<u8>,
}

/// Characters and their owners; `marked` is what the filter `safe` leaves.
#[derive(Clone)]
pub struct Text {
    held: Rc<Held>,
    marked: bool,
}

/// An empty vector with room for `len` elements, or an error where memory is short.
pub fn room<T>(len: usize) -> Result<Vec<T>> {
    let mut made = Vec::new();
    made.try_reserve_exact(len).map_err(|_| short_of_memory(len))?;
    Ok(made)
}

impl Text {
    /// Characters with as many owners.
    pub fn new(characters: Vec<char>, owners: Vec<u8>) -> Text {
        debug_assert_eq!(characters.len(), owners.len());
        Text { held: Rc::new(Held { characters, owners }), marked: false }
    }

    /// Characters of one owner.
    pub fn of(characters: Vec<char>, owner: u8) -> Text {
        let owners = vec![owner; characters.len()];
        Text::new(characters, owners)
    }

    /// A string of one owner.
    pub fn from_str(text: &str, owner: u8) -> Text {
        Text::of(text.chars().collect(), owner)
    }

    /// No characters.
    pub fn empty() -> Text {
        Text::new(Vec::new(), Vec::new())
    }

    /// Number of characters.
    pub fn len(&self) -> usize {
        self.held.characters.len()
    }

    /// True without characters.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The characters.
    pub fn characters(&self) -> &[char] {
        &self.held.characters
    }

    /// The owner of each.
    pub fn owners(&self) -> &[u8] {
        &self.held.owners
    }

    /// True after the filter `safe`.
    pub fn is_marked(&self) -> bool {
        self.marked
    }

    /// The same text with or without the mark.
    pub fn with_mark(&self, marked: bool) -> Text {
        Text { held: Rc::clone(&self.held), marked }
    }

    /// Other characters with the owners of these, one for one.
    pub fn respelled(&self, characters: Vec<char>) -> Text {
        Text::new(characters, self.held.owners.clone())
    }

    /// A stretch; the mark stays.
    pub fn slice(&self, range: Range<usize>) -> Result<Text> {
        if range == (0..self.len()) {
            return Ok(self.clone());
        }
        let (mut characters, mut owners) = (room(range.len())?, room(range.len())?);
        characters.extend_from_slice(&self.held.characters[range.clone()]);
        owners.extend_from_slice(&self.held.owners[range]);
        Ok(Text::new(characters, owners).with_mark(self.marked))
    }

    /// The characters at these places; the mark stays.
    pub fn picked(&self, places: impl Iterator<Item = usize> + Clone, len: usize) -> Result<Text> {
        let (mut characters, mut owners) = (room(len)?, room(len)?);
        characters.extend(places.clone().map(|at| self.held.characters[at]));
        owners.extend(places.map(|at| self.held.owners[at]));
        Ok(Text::new(characters, owners).with_mark(self.marked))
    }

    /// All pieces in order. One piece stays what it is.
    pub fn joined(pieces: &[Text]) -> Result<Text> {
        if let [one] = pieces {
            return Ok(one.clone());
        }
        let len = pieces.iter().map(Text::len).sum();
        let (mut characters, mut owners) = (room(len)?, room(len)?);
        for piece in pieces {
            characters.extend_from_slice(piece.characters());
            owners.extend_from_slice(piece.owners());
        }
        Ok(Text::new(characters, owners))
    }

    /// The text so many times.
    pub fn repeated(&self, times: usize) -> Result<Text> {
        let len = self.len() * times;
        let (mut characters, mut owners) = (room(len)?, room(len)?);
        for _ in 0..times {
            characters.extend_from_slice(self.characters());
            owners.extend_from_slice(self.owners());
        }
        Ok(Text::new(characters, owners))
    }

    /// Content if any character is content, else template.
    pub fn owner(&self) -> u8 {
        if self.owners().contains(&CONTENT) {
            CONTENT
        } else {
            TEMPLATE
        }
    }

    /// The same text, what the template wrote now owned by the generation prefix.
    pub fn as_prefix(&self) -> Text {
        let change = |&owner: &u8| if owner == TEMPLATE { PREFIX } else { owner };
        let owners = self.owners().iter().map(change).collect();
        Text::new(self.characters().to_vec(), owners).with_mark(self.marked)
    }

    /// The characters as a string.
    pub fn string(&self) -> String {
        self.characters().iter().collect()
    }

    /// True if these are the characters.
    pub fn is(&self, text: &str) -> bool {
        self.characters().iter().copied().eq(text.chars())
    }

    /// Number of bytes in UTF-8.
    pub fn octets(&self) -> u64 {
        self.characters().iter().map(|c| c.len_utf8() as u64).sum()
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        Rc::ptr_eq(&self.held, &other.held) || self.characters() == other.characters()
    }
}

impl Eq for Text {}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Text) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Text) -> Ordering {
        self.characters().cmp(other.characters())
    }
}
