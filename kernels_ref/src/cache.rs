//! The key/value cache: f32, per layer [position][kv head][head dim], keys after rotation.

use crate::error::{Code, Error, Result};

/// Stored keys and values of one layer.
#[derive(Default)]
pub struct LayerCache {
    /// Rotated keys.
    pub keys: Vec<f32>,
    /// Values.
    pub values: Vec<f32>,
}

/// Keys, values and visibility of the sequence so far.
pub struct Cache {
    /// One entry a layer.
    pub layers: Vec<LayerCache>,
    /// One entry a token: whether later queries may see it.
    pub shown: Vec<bool>,
    /// Floats of a token's keys (or values) in one layer.
    width: usize,
    /// Tokens that went through every layer.
    committed: usize,
}

fn grow<T>(vector: &mut Vec<T>, more: usize) -> Result<()> {
    vector
        .try_reserve(more)
        .map_err(|_| Error::new(Code::OutOfMemory, "cache", format!("{} further elements", more)))
}

impl Cache {
    /// An empty cache; `width` is K * E.
    pub fn new(layers: usize, width: usize) -> Cache {
        let layers = (0..layers).map(|_| LayerCache::default()).collect();
        Cache { layers, shown: Vec::new(), width, committed: 0 }
    }

    /// Tokens that went through every layer.
    pub fn len(&self) -> usize {
        self.committed
    }

    /// Whether no token is held.
    pub fn is_empty(&self) -> bool {
        self.committed == 0
    }

    /// Forget everything, or only what an unfinished case left behind.
    pub fn rewind(&mut self, keep: bool) {
        if !keep {
            self.committed = 0;
        }
        self.shown.truncate(self.committed);
        for layer in &mut self.layers {
            layer.keys.truncate(self.committed * self.width);
            layer.values.truncate(self.committed * self.width);
        }
    }

    /// Make room for further tokens, so that later steps cannot fail.
    pub fn reserve(&mut self, tokens: usize) -> Result<()> {
        grow(&mut self.shown, tokens)?;
        for layer in &mut self.layers {
            grow(&mut layer.keys, tokens.saturating_mul(self.width))?;
            grow(&mut layer.values, tokens.saturating_mul(self.width))?;
        }
        Ok(())
    }

    /// Count the tokens that are now in every layer.
    pub fn commit(&mut self) {
        self.committed = self.shown.len();
    }
}
