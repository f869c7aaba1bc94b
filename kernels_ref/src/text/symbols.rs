//! Ids of tokens that are one scalar, in pages of 256 scalars.

use super::scalars::scalar_at;
use super::vocabulary::{Vocabulary, NONE};

const PAGE: usize = 256;

/// Pages where a token lies.
#[derive(Default)]
pub struct SymbolTable {
    pages: Vec<Option<Box<[u32; PAGE]>>>,
}

impl SymbolTable {
    /// Look through all tokens once.
    pub fn new(vocabulary: &Vocabulary) -> SymbolTable {
        let mut table = SymbolTable::default();
        vocabulary.each(|token, id| {
            if !token.is_empty() && token.len() == scalar_at(token, 0).1 {
                table.put(scalar_at(token, 0).0, id);
            }
        });
        table
    }

    fn put(&mut self, code: u32, id: u32) {
        let page = code as usize / PAGE;
        if self.pages.len() <= page {
            self.pages.resize_with(page + 1, || None);
        }
        self.pages[page].get_or_insert_with(|| Box::new([NONE; PAGE]))[code as usize % PAGE] = id;
    }

    /// The id of the token that is this scalar.
    #[inline]
    pub fn get(&self, code: u32) -> Option<u32> {
        let page = self.pages.get(code as usize / PAGE)?.as_ref()?;
        Some(page[code as usize % PAGE]).filter(|&id| id != NONE)
    }
}
