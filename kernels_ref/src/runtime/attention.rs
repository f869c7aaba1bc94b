//! The first half of a layer: attention, and the residual behind it.

use super::pass::Pass;
use crate::cache::LayerCache;
use crate::config::{Config, QkNorm};
use crate::ops::attention::{sum_values, Head};
use crate::ops::matmul::{matmul, Rows};
use crate::ops::residual::add;
use crate::quant::Matrix;
use crate::workspace::Workspace;

/// The last of the forms of queries or keys that the model has: projected, normed, rotated.
fn last_form<'w>(config: &Config, [projected, normed, rotated]: [&'w [f32]; 3]) -> &'w [f32] {
    match (&config.rope, config.qk_norm) {
        (Some(_), _) => rotated,
        (None, QkNorm::None) => projected,
        (None, _) => normed,
    }
}

impl Pass<'_> {
    /// `attn_norm` to `attn_residual`; keys and values go into the cache.
    pub fn attend(&self, work: &mut Workspace, cache: &mut LayerCache) {
        let (config, layer) = (self.config, self.layer);
        let x = self.normed(&layer.attn_norm, &work.input, &mut work.attn_norm);
        let x = Rows::dense(x, config.hidden);
        self.project(x, &layer.q_proj, &mut work.q_proj, &mut work.scratch);
        self.project(x, &layer.k_proj, &mut work.k_proj, &mut work.scratch);
        self.project(x, &layer.v_proj, &mut work.v_proj, &mut work.scratch);
        self.normed(&layer.q_norm, &work.q_proj, &mut work.q_norm);
        self.normed(&layer.k_norm, &work.k_proj, &mut work.k_norm);
        self.rotate(work);
        let keys = last_form(config, [&work.k_proj, &work.k_norm, &work.k_rope]);
        cache.keys.extend_from_slice(keys);
        cache.values.extend_from_slice(&work.v_proj);
        for head in 0..config.heads {
            self.attend_head(work, cache, head);
        }
        let joined = Rows::dense(&work.attn_values, config.heads * config.head_dim);
        self.project(joined, &layer.o_proj, &mut work.o_proj, &mut work.scratch);
        let update = self.normed(&layer.post_attn_norm, &work.o_proj, &mut work.post_attn_norm);
        add(&work.input, update, &mut work.attn_residual);
    }

    fn rotate(&self, work: &mut Workspace) {
        let config = self.config;
        let rope = match &config.rope {
            None => return,
            Some(rope) => rope,
        };
        let local = self.slides && !rope.local.is_empty();
        let angles = if local { &work.local_angles } else { &work.angles };
        let rotation = angles.rotation(rope.full.len(), rope.order);
        let normed = config.qk_norm != QkNorm::None;
        let (q, k) =
            if normed { (&work.q_norm, &work.k_norm) } else { (&work.q_proj, &work.k_proj) };
        rotation.rotate(q, [config.heads, config.head_dim], &mut work.q_rope);
        rotation.rotate(k, [config.kv_heads, config.head_dim], &mut work.k_rope);
    }

    /// Scores, probabilities and value sums of one query head.
    fn attend_head(&self, work: &mut Workspace, cache: &LayerCache, head: usize) {
        let (config, extent) = (self.config, self.extent);
        let dim = config.head_dim;
        let shared = head / (config.heads / config.kv_heads) * dim;
        let (stride, queries) = (config.kv_heads * dim, config.heads * dim);
        let q = last_form(config, [&work.q_proj, &work.q_norm, &work.q_rope]);
        let q = Rows { data: &q[head * dim..], rows: extent.tokens, cols: dim, stride: queries };
        let k = Rows { data: &cache.keys[shared..], rows: extent.keys, cols: dim, stride };
        let area = extent.tokens * extent.keys;
        let range = head * area..(head + 1) * area;
        let scores = &mut work.attn_scores[range.clone()];
        matmul(self.order, q, &Matrix::View(k), scores, extent.keys, &mut work.scratch);
        let (masked, probs) = (&mut work.attn_masked[range.clone()], &mut work.attn_probs[range]);
        let (scale, cap) = (config.attention_scale, config.attention_cap);
        Head { scores, masked, probs }.normalise(self.order, scale, cap, self.visibility);
        for (t, probs) in probs.chunks_exact(extent.keys).enumerate() {
            let start = t * queries + head * dim;
            let y = &mut work.attn_values[start..start + dim];
            sum_values(probs, &cache.values[shared..], stride, self.visibility, t, y);
        }
    }
}
