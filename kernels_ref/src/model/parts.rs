//! Which tensors a model has, by its configuration alone: twin of `trlm_lab/base/model_parts.py`.

use crate::config::{Config, NormKind, Placement, QkNorm};
use crate::slm::numbers as n;

/// A tensor of the model: the weight of a module or its bias.
pub struct Part {
    module: &'static str,
    suffix: &'static str,
    /// What it does.
    pub role: u16,
    /// Its dimensions; matrices are out x in.
    pub shape: Vec<u64>,
}

impl Part {
    /// The name, without the layer's prefix.
    pub fn name(&self) -> String {
        format!("{}{}", self.module, self.suffix)
    }

    /// Whether this is the tensor's name.
    pub fn is_named(&self, name: &str) -> bool {
        name.strip_prefix(self.module) == Some(self.suffix)
    }
}

/// A module of a layer: whether the model has it, name, role, shape, whether it has a bias.
type Row = (bool, &'static str, u16, Vec<u64>, bool);

fn parts(rows: Vec<Row>) -> Vec<Part> {
    let mut found = Vec::new();
    for (present, module, role, shape, biased) in rows {
        if !present {
            continue;
        }
        let length = shape[..1].to_vec();
        found.push(Part { module, suffix: ".weight", role, shape });
        if biased {
            found.push(Part { module, suffix: ".bias", role: role + n::BIAS, shape: length });
        }
    }
    found
}

/// The tensors of one layer, behind `model.layers.{i}.`, in the order of the forward pass.
pub fn layer_parts(c: &Config) -> Vec<Part> {
    let (hidden, ffn, dim) = (c.hidden as u64, c.ffn as u64, c.head_dim as u64);
    let (queries, keys) = (c.joined(c.heads), c.joined(c.kv_heads));
    let (before, behind) = (c.placement != Placement::Post, c.placement != Placement::Pre);
    let sandwich = before && behind;
    let mlp_norm = if sandwich { "pre_feedforward_layernorm" } else { "post_attention_layernorm" };
    let normed = c.qk_norm != QkNorm::None;
    let (of_q, of_k) = if c.qk_norm == QkNorm::Joined { (queries, keys) } else { (dim, dim) };
    let affine = c.norm.kind == NormKind::Layer;
    let (qkv, out, mlp) = (c.attention_bias, c.attention_out_bias, c.mlp_bias);
    parts(vec![
        (before, "input_layernorm", n::ROLE_ATTN_NORM, vec![hidden], affine),
        (true, "self_attn.q_proj", n::ROLE_Q_PROJ, vec![queries, hidden], qkv),
        (true, "self_attn.k_proj", n::ROLE_K_PROJ, vec![keys, hidden], qkv),
        (true, "self_attn.v_proj", n::ROLE_V_PROJ, vec![keys, hidden], qkv),
        (normed, "self_attn.q_norm", n::ROLE_Q_NORM, vec![of_q], false),
        (normed, "self_attn.k_norm", n::ROLE_K_NORM, vec![of_k], false),
        (true, "self_attn.o_proj", n::ROLE_O_PROJ, vec![hidden, queries], out),
        (behind, "post_attention_layernorm", n::ROLE_POST_ATTN_NORM, vec![hidden], false),
        (before, mlp_norm, n::ROLE_MLP_NORM, vec![hidden], affine),
        (c.gated, "mlp.gate_proj", n::ROLE_GATE_PROJ, vec![ffn, hidden], mlp),
        (true, "mlp.up_proj", n::ROLE_UP_PROJ, vec![ffn, hidden], mlp),
        (true, "mlp.down_proj", n::ROLE_DOWN_PROJ, vec![hidden, ffn], mlp),
        (behind, "post_feedforward_layernorm", n::ROLE_POST_MLP_NORM, vec![hidden], false),
    ])
}

/// The tensors outside the layers, by their whole names.
pub fn outside_parts(c: &Config) -> Vec<Part> {
    let (hidden, vocab) = (c.hidden as u64, c.vocab as u64);
    let (learned, affine) = (c.rope.is_none(), c.norm.kind == NormKind::Layer);
    let positions = vec![c.max_positions as u64, hidden];
    parts(vec![
        (true, "model.embed_tokens", n::ROLE_EMBEDDING, vec![vocab, hidden], false),
        (learned, "model.embed_positions", n::ROLE_POSITION_EMBEDDING, positions, false),
        (true, "model.norm", n::ROLE_FINAL_NORM, vec![hidden], affine),
        (true, "lm_head", n::ROLE_LM_HEAD, vec![vocab, hidden], false),
    ])
}
