//! What a header says of the forward pass: a plain llama with interleaved pairs.

use super::frequencies;
use super::header::Header;
use crate::bytes::reserve;
use crate::config::{Activation, Config, Norm, NormKind, Placement, QkNorm, Rope};
use crate::error::Result;
use crate::ops::rope::RopeOrder;

/// The configuration of a file.
pub fn config(header: &Header) -> Result<Config> {
    let head_dim = header.head_dim as usize;
    let mut slides = Vec::new();
    reserve(&mut slides, header.layers as usize)?;
    slides.resize(header.layers as usize, false);
    Ok(Config {
        vocab: header.vocab as usize,
        hidden: header.hidden as usize,
        ffn: header.ffn as usize,
        layers: header.layers as usize,
        heads: header.heads as usize,
        kv_heads: header.kv_heads as usize,
        head_dim,
        max_positions: header.max_context as usize,
        norm: Norm { kind: NormKind::Rms, eps: header.rms_eps },
        placement: Placement::Pre,
        qk_norm: QkNorm::None,
        rope: Some(Rope {
            theta: header.rope_theta,
            order: RopeOrder::Interleaved,
            factor: 1.0,
            full: frequencies::inverse(header.rope_theta, head_dim)?,
            local: Vec::new(),
        }),
        attention_scale: (1.0 / (head_dim as f64).sqrt()) as f32,
        attention_cap: None,
        logit_cap: None,
        window: None,
        slides,
        activation: Activation::Silu,
        gated: true,
        embedding_scale: 1.0,
        tied: header.tied,
        attention_bias: false,
        attention_out_bias: false,
        mlp_bias: false,
    })
}
