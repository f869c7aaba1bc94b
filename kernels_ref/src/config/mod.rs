//! The effective configuration: every field known, of its type, in range and computed here.
//!
//! It says as values what a family of models implies; nothing in this crate knows a family by name.

mod agreement;
mod field;
mod fields;
mod rules;

use crate::error::{ensure, Code, Error, Result};
use crate::ops::rope::RopeOrder;
use crate::slm::header::Header;
use fields::Fields;

/// Which norm a model has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormKind {
    /// RMSNorm with the factor w.
    Rms,
    /// RMSNorm with the factor 1 + w.
    RmsOffset,
    /// LayerNorm with factor and bias.
    Layer,
}

/// The norm of a model and its epsilon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Norm {
    /// Which it is.
    pub kind: NormKind,
    /// Added to the mean square or to the variance.
    pub eps: f32,
}

/// Where a layer has norms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Before attention and before the MLP.
    Pre,
    /// Behind each, before the residual is added.
    Post,
    /// Both.
    Sandwich,
}

/// The norm of queries and keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QkNorm {
    /// There is none.
    None,
    /// Each head alone.
    Head,
    /// All heads at once.
    Joined,
}

/// The function of the MLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `x / (1 + exp(-x))`.
    Silu,
    /// GELU by tanh.
    GeluTanh,
    /// GELU by erf.
    GeluErf,
}

/// Rotary positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Rope {
    /// Base of the frequencies; already in them.
    pub theta: f32,
    /// Pairing of coordinates.
    pub order: RopeOrder,
    /// Factor of cosine and sine.
    pub factor: f32,
    /// Inverse frequencies, one a pair; as many pairs of a head rotate.
    pub full: Vec<f32>,
    /// Those of sliding layers; empty where they have the same.
    pub local: Vec<f32>,
}

/// A configuration that this runtime computes.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// V.
    pub vocab: usize,
    /// D.
    pub hidden: usize,
    /// F.
    pub ffn: usize,
    /// L.
    pub layers: usize,
    /// H.
    pub heads: usize,
    /// K.
    pub kv_heads: usize,
    /// E.
    pub head_dim: usize,
    /// Longest sequence.
    pub max_positions: usize,
    /// Every norm of the model.
    pub norm: Norm,
    /// Where layers have norms.
    pub placement: Placement,
    /// The norm of queries and keys.
    pub qk_norm: QkNorm,
    /// The rotation; None where positions are learned.
    pub rope: Option<Rope>,
    /// Factor of the scores.
    pub attention_scale: f32,
    /// Soft cap of the scores.
    pub attention_cap: Option<f32>,
    /// Soft cap of the logits.
    pub logit_cap: Option<f32>,
    /// Keys that a query of a sliding layer sees, its own among them.
    pub window: Option<usize>,
    /// Whether a layer slides, one a layer.
    pub slides: Vec<bool>,
    /// The function of the MLP.
    pub activation: Activation,
    /// Whether it multiplies a gate.
    pub gated: bool,
    /// Factor of the embedding.
    pub embedding_scale: f32,
    /// Whether the output projection is the embedding.
    pub tied: bool,
    /// Whether queries, keys and values have biases.
    pub attention_bias: bool,
    /// Whether the projection behind attention has one.
    pub attention_out_bias: bool,
    /// Whether the projections of the MLP have them.
    pub mlp_bias: bool,
}

/// Bytes of a configuration.
const MOST: usize = 1 << 17;

impl Config {
    /// Decode the section and compare it with the header.
    pub fn parse(bytes: &[u8], header: &Header) -> Result<Config> {
        ensure(bytes.len() <= MOST, || {
            Error::new(Code::Cbor, "configuration", format!("{} bytes are too many", bytes.len()))
        })?;
        let fields = Fields::read(bytes)?;
        rules::layers(&fields)?;
        let config = Config {
            vocab: fields.vocab_size,
            hidden: fields.hidden_size,
            ffn: fields.intermediate_size,
            layers: fields.num_hidden_layers,
            heads: fields.num_attention_heads,
            kv_heads: fields.num_key_value_heads,
            head_dim: fields.head_dim,
            max_positions: fields.max_position_embeddings,
            norm: rules::norm(&fields)?,
            placement: fields.norm_placement,
            qk_norm: fields.qk_norm,
            rope: rules::rope(&fields)?,
            attention_scale: fields.attention_scale,
            attention_cap: fields.attn_logit_softcapping,
            logit_cap: fields.final_logit_softcapping,
            window: fields.sliding_window,
            slides: fields.layer_types,
            activation: fields.hidden_act,
            gated: fields.mlp_gated,
            embedding_scale: fields.embedding_scale,
            tied: fields.tie_word_embeddings,
            attention_bias: fields.attention_bias,
            attention_out_bias: fields.attention_out_bias,
            mlp_bias: fields.mlp_bias,
        };
        agreement::check(&config, header)?;
        Ok(config)
    }

    /// H * E, K * E: both below 2^24, and checked against tensor dimensions before they are used.
    pub fn joined(&self, heads: usize) -> u64 {
        heads as u64 * self.head_dim as u64
    }
}
