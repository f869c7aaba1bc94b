//! The fields of the section in the order of its encoding: all must be there, and no other.

use super::field::{broken, Field};
use super::{Activation, Placement, QkNorm};
use crate::cbor::{Item, Reader};
use crate::error::{ensure, Code, Error, Result};
use crate::ops::rope::RopeOrder;

/// Fields of a section, each of its type and in its own range.
#[allow(missing_docs)]
pub struct Fields {
    pub qk_norm: QkNorm,
    pub head_dim: usize,
    pub mlp_bias: bool,
    pub mlp_gated: bool,
    pub hidden_act: Activation,
    pub rope_order: Option<RopeOrder>,
    pub rope_theta: f32,
    pub vocab_size: usize,
    pub hidden_size: usize,
    /// Whether a layer slides, one a layer.
    pub layer_types: Vec<bool>,
    pub rms_norm_eps: Option<f32>,
    pub rope_inv_freq: Vec<f32>,
    pub attention_bias: bool,
    pub norm_placement: Placement,
    pub sliding_window: Option<usize>,
    pub attention_scale: f32,
    pub embedding_scale: f32,
    pub norm_unit_offset: bool,
    pub intermediate_size: usize,
    pub num_hidden_layers: usize,
    pub attention_out_bias: bool,
    pub layer_norm_epsilon: Option<f32>,
    pub num_attention_heads: usize,
    pub num_key_value_heads: usize,
    pub rope_local_inv_freq: Vec<f32>,
    pub tie_word_embeddings: bool,
    pub rope_local_base_freq: Option<f32>,
    pub rope_attention_factor: f32,
    pub attn_logit_softcapping: Option<f32>,
    pub final_logit_softcapping: Option<f32>,
    pub max_position_embeddings: usize,
}

/// Number of fields, those that the runtime has no use for among them.
const COUNT: u64 = 36;

const MAX_LAYERS: u32 = 1024;

const QK_NORMS: [(&str, QkNorm); 3] =
    [("none", QkNorm::None), ("head", QkNorm::Head), ("joined", QkNorm::Joined)];
const ACTIVATIONS: [(&str, Activation); 3] = [
    ("silu", Activation::Silu),
    ("gelu_tanh", Activation::GeluTanh),
    ("gelu_erf", Activation::GeluErf),
];
const ROPE_ORDERS: [(&str, Option<RopeOrder>); 3] = [
    ("half_split", Some(RopeOrder::HalfSplit)),
    ("interleaved", Some(RopeOrder::Interleaved)),
    ("none", None),
];
const PLACEMENTS: [(&str, Placement); 3] =
    [("pre", Placement::Pre), ("post", Placement::Post), ("sandwich", Placement::Sandwich)];
const LAYER_TYPES: [(&str, bool); 2] = [("full_attention", false), ("sliding_attention", true)];

/// The keys of a map, each expected in its turn.
struct Keys<'r, 'a> {
    reader: &'r mut Reader<'a>,
    previous: Option<&'static str>,
}

impl<'a> Keys<'_, 'a> {
    /// The value of the next key, which must be `name`.
    fn field(&mut self, name: &'static str) -> Result<Field<'_, 'a>> {
        let key = self.reader.key(self.previous)?;
        self.previous = Some(name);
        ensure(key == name, || broken(name, format!("found {:?} in its place", key)))?;
        Ok(Field { reader: self.reader, name })
    }
}

impl Fields {
    /// Decode a whole section.
    pub fn read(bytes: &[u8]) -> Result<Fields> {
        let mut reader = Reader::new(bytes);
        match reader.item()? {
            Item::Map(COUNT) => (),
            Item::Map(len) => {
                return Err(broken("*", format!("{} fields, expected {}", len, COUNT)))
            }
            _ => return Err(Error::new(Code::Cbor, "configuration", "is no map")),
        }
        let fields = Fields::read_all(&mut Keys { reader: &mut reader, previous: None })?;
        reader.end()?;
        Ok(fields)
    }

    // Struct expressions are evaluated in the order in which they are written.
    fn read_all(keys: &mut Keys<'_, '_>) -> Result<Fields> {
        let qk_norm = keys.field("qk_norm")?.choice(&QK_NORMS)?;
        let head_dim = keys.field("head_dim")?.size(2, 4096)?;
        let mlp_bias = keys.field("mlp_bias")?.flag()?;
        let mlp_gated = keys.field("mlp_gated")?.flag()?;
        let hidden_act = keys.field("hidden_act")?.choice(&ACTIVATIONS)?;
        keys.field("model_type")?.text()?;
        let rope_order = keys.field("rope_order")?.choice(&ROPE_ORDERS)?;
        let rope_theta = keys.field("rope_theta")?.float()?;
        let vocab_size = keys.field("vocab_size")?.size(1, 1 << 24)?;
        let hidden_size = keys.field("hidden_size")?.size(1, 1 << 17)?;
        let layer_types = keys
            .field("layer_types")?
            .list(MAX_LAYERS as usize, |field| field.choice(&LAYER_TYPES))?;
        keys.field("bos_token_id")?.optional_token()?;
        keys.field("eos_token_id")?.tokens()?;
        keys.field("pad_token_id")?.optional_token()?;
        let rms_norm_eps = keys.field("rms_norm_eps")?.optional_positive()?;
        keys.field("unk_token_id")?.optional_token()?;
        Ok(Fields {
            qk_norm,
            head_dim,
            mlp_bias,
            mlp_gated,
            hidden_act,
            rope_order,
            rope_theta,
            vocab_size,
            hidden_size,
            layer_types,
            rms_norm_eps,
            rope_inv_freq: keys.field("rope_inv_freq")?.list(head_dim / 2, Field::float)?,
            attention_bias: keys.field("attention_bias")?.flag()?,
            norm_placement: keys.field("norm_placement")?.choice(&PLACEMENTS)?,
            sliding_window: keys.field("sliding_window")?.optional_window()?,
            attention_scale: keys.field("attention_scale")?.positive()?,
            embedding_scale: keys.field("embedding_scale")?.positive()?,
            norm_unit_offset: keys.field("norm_unit_offset")?.flag()?,
            intermediate_size: keys.field("intermediate_size")?.size(1, 1 << 19)?,
            num_hidden_layers: keys.field("num_hidden_layers")?.size(1, MAX_LAYERS)?,
            attention_out_bias: keys.field("attention_out_bias")?.flag()?,
            layer_norm_epsilon: keys.field("layer_norm_epsilon")?.optional_positive()?,
            num_attention_heads: keys.field("num_attention_heads")?.size(1, 4096)?,
            num_key_value_heads: keys.field("num_key_value_heads")?.size(1, 4096)?,
            rope_local_inv_freq: keys
                .field("rope_local_inv_freq")?
                .list(head_dim / 2, Field::float)?,
            tie_word_embeddings: keys.field("tie_word_embeddings")?.flag()?,
            rope_local_base_freq: keys.field("rope_local_base_freq")?.optional_positive()?,
            rope_attention_factor: keys.field("rope_attention_factor")?.positive()?,
            attn_logit_softcapping: keys.field("attn_logit_softcapping")?.optional_positive()?,
            final_logit_softcapping: keys.field("final_logit_softcapping")?.optional_positive()?,
            max_position_embeddings: keys.field("max_position_embeddings")?.size(1, 0x7fff_ffff)?,
        })
    }
}
