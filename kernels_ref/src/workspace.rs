//! The arrays of the running step, kept and reused: after a case begins nothing is allocated.

use crate::bytes::reserve;
use crate::checkpoint::Op;
use crate::config::Config;
use crate::error::{Code, Error, Result};
use crate::ops::matmul::Scratch;

/// One array a checkpoint. `output` serves as `embedding` before the first layer.
#[derive(Default)]
pub struct Workspace {
    pub input: Vec<f32>,
    pub attn_norm: Vec<f32>,
    pub q_proj: Vec<f32>,
    pub k_proj: Vec<f32>,
    pub v_proj: Vec<f32>,
    pub q_rope: Vec<f32>,
    pub k_rope: Vec<f32>,
    pub attn_scores: Vec<f32>,
    pub attn_masked: Vec<f32>,
    pub attn_probs: Vec<f32>,
    pub attn_values: Vec<f32>,
    pub o_proj: Vec<f32>,
    pub attn_residual: Vec<f32>,
    pub mlp_norm: Vec<f32>,
    pub gate_proj: Vec<f32>,
    pub up_proj: Vec<f32>,
    pub mlp_act: Vec<f32>,
    pub down_proj: Vec<f32>,
    pub output: Vec<f32>,
    pub final_norm: Vec<f32>,
    pub logits: Vec<f32>,
    pub cos: Vec<f32>,
    pub sin: Vec<f32>,
    pub scratch: Scratch,
}

/// `T` tokens against `S` keys, logits for `rows` of them.
#[derive(Clone, Copy)]
pub struct Extent {
    pub tokens: usize,
    pub keys: usize,
    pub rows: usize,
}

fn fit(vector: &mut Vec<f32>, factors: &[usize]) -> Result<()> {
    let len = factors.iter().try_fold(1usize, |all, &factor| all.checked_mul(factor));
    let len = len.ok_or_else(|| {
        Error::new(Code::OutOfMemory, "allocation", format!("{:?} elements", factors))
    })?;
    reserve(vector, len)?;
    vector.resize(len, 0.0);
    Ok(())
}

impl Workspace {
    /// Give every array its size for a case.
    pub fn fit(&mut self, config: &Config, extent: Extent) -> Result<()> {
        let Extent { tokens, keys, rows } = extent;
        let queries = config.heads * config.head_dim;
        let shared = config.kv_heads * config.head_dim;
        for vector in [
            &mut self.input,
            &mut self.attn_norm,
            &mut self.o_proj,
            &mut self.attn_residual,
            &mut self.mlp_norm,
            &mut self.down_proj,
            &mut self.output,
        ] {
            fit(vector, &[tokens, config.hidden])?;
        }
        for vector in [&mut self.q_proj, &mut self.q_rope, &mut self.attn_values] {
            fit(vector, &[tokens, queries])?;
        }
        for vector in [&mut self.k_proj, &mut self.v_proj, &mut self.k_rope] {
            fit(vector, &[tokens, shared])?;
        }
        for vector in [&mut self.attn_scores, &mut self.attn_masked, &mut self.attn_probs] {
            fit(vector, &[config.heads, tokens, keys])?;
        }
        for vector in [&mut self.gate_proj, &mut self.up_proj, &mut self.mlp_act] {
            fit(vector, &[tokens, config.ffn])?;
        }
        fit(&mut self.final_norm, &[rows, config.hidden])?;
        fit(&mut self.logits, &[rows, config.vocab])?;
        let pairs = config.rope.as_ref().map_or(0, |rope| rope.full.len());
        reserve(&mut self.cos, tokens * pairs)?;
        reserve(&mut self.sin, tokens * pairs)?;
        self.scratch.fit(tokens, config.hidden.max(queries).max(config.ffn))
    }
}

macro_rules! arrays {
    ($($op:ident => $field:ident,)*) => {
        impl Workspace {
            /// The array of a checkpoint.
            pub fn array(&self, op: Op) -> &[f32] {
                match op { $(Op::$op => &self.$field,)* }
            }

            /// The array of a checkpoint, to change.
            pub fn array_mut(&mut self, op: Op) -> &mut [f32] {
                match op { $(Op::$op => &mut self.$field,)* }
            }
        }
    };
}

arrays! {
    Embedding => output,
    Input => input,
    AttnNorm => attn_norm,
    QProj => q_proj,
    KProj => k_proj,
    VProj => v_proj,
    QRope => q_rope,
    KRope => k_rope,
    AttnScores => attn_scores,
    AttnMasked => attn_masked,
    AttnProbs => attn_probs,
    AttnValues => attn_values,
    OProj => o_proj,
    AttnResidual => attn_residual,
    MlpNorm => mlp_norm,
    GateProj => gate_proj,
    UpProj => up_proj,
    MlpAct => mlp_act,
    DownProj => down_proj,
    Output => output,
    FinalNorm => final_norm,
    Logits => logits,
}
