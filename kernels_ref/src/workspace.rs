//! The arrays of the running step, kept and reused: after a case begins nothing is allocated.

use crate::bytes::reserve;
use crate::checkpoint::Op;
use crate::config::Config;
use crate::error::{Code, Error, Result};
use crate::ops::matmul::Scratch;
use crate::ops::order::Order;
use crate::ops::rope::Angles;

/// One array a checkpoint, empty where the model has no such one. `output` serves as `embedding`
/// before the first layer.
#[derive(Default)]
pub struct Workspace {
    pub input: Vec<f32>,
    pub attn_norm: Vec<f32>,
    pub q_proj: Vec<f32>,
    pub k_proj: Vec<f32>,
    pub v_proj: Vec<f32>,
    pub q_norm: Vec<f32>,
    pub k_norm: Vec<f32>,
    pub q_rope: Vec<f32>,
    pub k_rope: Vec<f32>,
    pub attn_scores: Vec<f32>,
    pub attn_masked: Vec<f32>,
    pub attn_probs: Vec<f32>,
    pub attn_values: Vec<f32>,
    pub o_proj: Vec<f32>,
    pub post_attn_norm: Vec<f32>,
    pub attn_residual: Vec<f32>,
    pub mlp_norm: Vec<f32>,
    pub gate_proj: Vec<f32>,
    pub up_proj: Vec<f32>,
    pub mlp_act: Vec<f32>,
    pub down_proj: Vec<f32>,
    pub post_mlp_norm: Vec<f32>,
    pub output: Vec<f32>,
    pub final_norm: Vec<f32>,
    pub logits: Vec<f32>,
    /// Angles of the full layers, and of all where sliding ones have none of their own.
    pub angles: Angles,
    /// Angles of sliding layers.
    pub local_angles: Angles,
    /// A row of learned positions.
    pub position: Vec<f32>,
    pub scratch: Scratch,
}

/// `T` tokens against `S` keys, logits for `rows` of them.
#[derive(Clone, Copy)]
pub struct Extent {
    pub tokens: usize,
    pub keys: usize,
    pub rows: usize,
}

impl Extent {
    /// The shape of a checkpoint.
    pub fn shape(self, config: &Config, op: Op) -> Vec<usize> {
        let Extent { tokens, keys, rows } = self;
        let (heads, shared, dim) = (config.heads, config.kv_heads, config.head_dim);
        match op {
            Op::QProj | Op::AttnValues => vec![tokens, heads * dim],
            Op::KProj | Op::VProj => vec![tokens, shared * dim],
            Op::QNorm | Op::QRope => vec![tokens, heads, dim],
            Op::KNorm | Op::KRope => vec![tokens, shared, dim],
            Op::AttnScores | Op::AttnMasked | Op::AttnProbs => vec![heads, tokens, keys],
            Op::GateProj | Op::UpProj | Op::MlpAct => vec![tokens, config.ffn],
            Op::FinalNorm => vec![rows, config.hidden],
            Op::Logits => vec![rows, config.vocab],
            _ => vec![tokens, config.hidden],
        }
    }
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
    /// Give every array that the model has its size for a case.
    pub fn fit(&mut self, config: &Config, order: Order, extent: Extent) -> Result<()> {
        for op in Op::LAYER.into_iter().filter(|op| op.is_in(config)) {
            fit(self.vector(op), &extent.shape(config, op))?;
        }
        for op in [Op::FinalNorm, Op::Logits] {
            fit(self.vector(op), &extent.shape(config, op))?;
        }
        match &config.rope {
            Some(rope) => {
                self.angles.fit(extent.tokens, rope.full.len())?;
                self.local_angles.fit(extent.tokens, rope.local.len())?;
            }
            None => fit(&mut self.position, &[config.hidden])?,
        }
        let queries = config.heads * config.head_dim;
        self.scratch.fit(order, extent.tokens, config.hidden.max(queries).max(config.ffn))
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
            pub fn vector(&mut self, op: Op) -> &mut Vec<f32> {
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
    QNorm => q_norm,
    KNorm => k_norm,
    QRope => q_rope,
    KRope => k_rope,
    AttnScores => attn_scores,
    AttnMasked => attn_masked,
    AttnProbs => attn_probs,
    AttnValues => attn_values,
    OProj => o_proj,
    PostAttnNorm => post_attn_norm,
    AttnResidual => attn_residual,
    MlpNorm => mlp_norm,
    GateProj => gate_proj,
    UpProj => up_proj,
    MlpAct => mlp_act,
    DownProj => down_proj,
    PostMlpNorm => post_mlp_norm,
    Output => output,
    FinalNorm => final_norm,
    Logits => logits,
}
