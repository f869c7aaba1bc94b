//! Merging by score with a heap: two neighbours go together where their joined text is a piece.
//!
//! The best rank comes first, then the leftmost place; n log n on any text. This is how both
//! SentencePiece and llama.cpp run a SentencePiece vocabulary; they differ in what is a piece.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Bytes of the text, and the numbers of the neighbours. One that was merged away ends at 0.
#[derive(Clone, Copy)]
struct Symbol {
    start: u32,
    end: u32,
    before: u32,
    after: u32,
    frozen: bool,
}

/// Rank, number of the left symbol, and where the right one ends.
type Waiting = Reverse<(u32, u32, u32)>;

/// Memory of merging, kept between pieces.
#[derive(Default)]
pub struct Scratch {
    symbols: Vec<Symbol>,
    heap: Vec<Waiting>,
}

impl Scratch {
    /// No symbol.
    pub fn clear(&mut self) {
        self.symbols.clear();
    }

    /// A symbol behind the others; a frozen one never goes together with another.
    pub fn push(&mut self, start: usize, end: usize, frozen: bool) {
        let number = self.symbols.len() as u32;
        self.symbols.push(Symbol {
            start: start as u32,
            end: end as u32,
            before: number.wrapping_sub(1),
            after: number + 1,
            frozen,
        });
    }

    /// Merge all that can be merged. `rank` is asked for every pair that could go together, by where
    /// it begins, is cut and ends; 0 is the best.
    pub fn merge(&mut self, mut rank: impl FnMut(u32, u32, u32) -> Option<u32>) {
        let mut waiting = std::mem::take(&mut self.heap);
        waiting.clear();
        for right in 1..self.symbols.len() as u32 {
            waiting.extend(self.pair(right - 1, right, &mut rank));
        }
        let mut heap = BinaryHeap::from(waiting);
        while let Some(Reverse((_, number, end))) = heap.pop() {
            let Symbol { end: own, before, after: right, .. } = self.symbols[number as usize];
            let holds = self.symbols.get(right as usize).map_or(false, |right| right.end == end);
            if own == 0 || !holds {
                continue;
            }
            let following = self.symbols[right as usize].after;
            self.symbols[right as usize].end = 0;
            self.symbols[number as usize].end = end;
            self.symbols[number as usize].after = following;
            if let Some(next) = self.symbols.get_mut(following as usize) {
                next.before = number;
            }
            heap.extend(self.pair(before, number, &mut rank));
            heap.extend(self.pair(number, following, &mut rank));
        }
        self.heap = heap.into_vec();
    }

    /// Two neighbours as a pair that waits, if there are both and they make a piece.
    fn pair(
        &self,
        left: u32,
        right: u32,
        rank: &mut impl FnMut(u32, u32, u32) -> Option<u32>,
    ) -> Option<Waiting> {
        let (one, other) = (self.symbols.get(left as usize)?, self.symbols.get(right as usize)?);
        if one.frozen || other.frozen {
            return None;
        }
        rank(one.start, one.end, other.end).map(|rank| Reverse((rank, left, other.end)))
    }

    /// What is left, from left to right.
    pub fn spans(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let left = self.symbols.iter().filter(|symbol| symbol.end != 0);
        left.map(|symbol| (symbol.start, symbol.end))
    }

    /// Whether the memory is small enough to be kept: what one long piece needed is not.
    pub fn is_small(&self) -> bool {
        self.symbols.capacity().max(self.heap.capacity()) <= 1 << 16
    }
}
