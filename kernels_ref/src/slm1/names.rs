//! Which tensors a file has, by its header: hashes of their names, and their dimensions.

use super::header::Header;
use crate::bytes::reserve;
use crate::error::Result;

/// Tensors of a layer, in the order of the forward pass.
pub const LAYER: [&str; 9] = ["attn_norm", "wq", "wk", "wv", "wo", "ffn_norm", "w1", "w2", "w3"];

/// Places in `LAYER`.
pub mod at {
    #![allow(missing_docs)]
    pub const ATTN_NORM: usize = 0;
    pub const WQ: usize = 1;
    pub const WK: usize = 2;
    pub const WV: usize = 3;
    pub const WO: usize = 4;
    pub const FFN_NORM: usize = 5;
    pub const W1: usize = 6;
    pub const W2: usize = 7;
    pub const W3: usize = 8;
}

/// Rows and columns; a vector has no rows of its own.
#[derive(Clone, Copy)]
pub struct Shape {
    /// None of a vector.
    pub rows: Option<u32>,
    /// The last dimension.
    pub cols: u32,
}

/// Slots: the embedding, each layer, the final norm, the head.
pub struct Names {
    sorted: Vec<(u64, u32)>,
    layer: [Shape; 9],
    matrix: Shape,
    layers: usize,
}

/// FNV-1a with 64 bits.
pub fn fnv1a(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

impl Names {
    /// All names of a header's shape; there are at most 9,219.
    pub fn of(header: &Header) -> Result<Names> {
        let (hidden, ffn) = (header.hidden, header.ffn);
        let (queries, keys) = (header.heads * header.head_dim, header.kv_heads * header.head_dim);
        let vector = Shape { rows: None, cols: hidden };
        let matrix = |rows: u32, cols: u32| Shape { rows: Some(rows), cols };
        let layers = header.layers as usize;
        let mut sorted = Vec::new();
        reserve(&mut sorted, 9 * layers + 3)?;
        let mut add = |name: &str| sorted.push((fnv1a(name), sorted.len() as u32));
        add("tok_embeddings.weight");
        for layer in 0..layers {
            LAYER.iter().for_each(|name| add(&format!("layers.{}.{}.weight", layer, name)));
        }
        add("norm.weight");
        add("output.weight");
        sorted.sort_unstable();
        Ok(Names {
            sorted,
            layer: [
                vector,
                matrix(queries, hidden),
                matrix(keys, hidden),
                matrix(keys, hidden),
                matrix(hidden, queries),
                vector,
                matrix(ffn, hidden),
                matrix(hidden, ffn),
                matrix(ffn, hidden),
            ],
            matrix: matrix(header.vocab, hidden),
            layers,
        })
    }

    /// Number of slots.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// The slot of a hash.
    pub fn slot(&self, hash: u64) -> Option<usize> {
        let found = self.sorted.binary_search_by_key(&hash, |&(hash, _)| hash).ok()?;
        Some(self.sorted[found].1 as usize)
    }

    /// The dimensions of a slot.
    pub fn shape(&self, slot: usize) -> Shape {
        match slot {
            0 => self.matrix,
            _ if slot <= 9 * self.layers => self.layer[(slot - 1) % 9],
            _ if slot == 9 * self.layers + 1 => self.layer[0],
            _ => self.matrix,
        }
    }
}
