//! Names and shapes of what a step exposes, and which of it a model has.

use crate::config::{Config, Placement, QkNorm};

/// A checkpoint of the forward pass; the order of the variants is the ladder's.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Embedding,
    Input,
    AttnNorm,
    QProj,
    KProj,
    VProj,
    QNorm,
    KNorm,
    QRope,
    KRope,
    AttnScores,
    AttnMasked,
    AttnProbs,
    AttnValues,
    OProj,
    PostAttnNorm,
    AttnResidual,
    MlpNorm,
    GateProj,
    UpProj,
    MlpAct,
    DownProj,
    PostMlpNorm,
    Output,
    FinalNorm,
    Logits,
}

impl Op {
    /// Every checkpoint that a layer may have, in order.
    pub const LAYER: [Op; 23] = [
        Op::Input,
        Op::AttnNorm,
        Op::QProj,
        Op::KProj,
        Op::VProj,
        Op::QNorm,
        Op::KNorm,
        Op::QRope,
        Op::KRope,
        Op::AttnScores,
        Op::AttnMasked,
        Op::AttnProbs,
        Op::AttnValues,
        Op::OProj,
        Op::PostAttnNorm,
        Op::AttnResidual,
        Op::MlpNorm,
        Op::GateProj,
        Op::UpProj,
        Op::MlpAct,
        Op::DownProj,
        Op::PostMlpNorm,
        Op::Output,
    ];

    /// Whether the model has it.
    pub fn is_in(self, config: &Config) -> bool {
        match self {
            Op::AttnNorm | Op::MlpNorm => config.placement != Placement::Post,
            Op::PostAttnNorm | Op::PostMlpNorm => config.placement != Placement::Pre,
            Op::QNorm | Op::KNorm => config.qk_norm != QkNorm::None,
            Op::QRope | Op::KRope => config.rope.is_some(),
            Op::GateProj => config.gated,
            _ => true,
        }
    }

    /// The name, without its layer.
    pub fn name(self) -> &'static str {
        match self {
            Op::Embedding => "embedding",
            Op::Input => "input",
            Op::AttnNorm => "attn_norm",
            Op::QProj => "q_proj",
            Op::KProj => "k_proj",
            Op::VProj => "v_proj",
            Op::QNorm => "q_norm",
            Op::KNorm => "k_norm",
            Op::QRope => "q_rope",
            Op::KRope => "k_rope",
            Op::AttnScores => "attn_scores",
            Op::AttnMasked => "attn_masked",
            Op::AttnProbs => "attn_probs",
            Op::AttnValues => "attn_values",
            Op::OProj => "o_proj",
            Op::PostAttnNorm => "post_attn_norm",
            Op::AttnResidual => "attn_residual",
            Op::MlpNorm => "mlp_norm",
            Op::GateProj => "gate_proj",
            Op::UpProj => "up_proj",
            Op::MlpAct => "mlp_act",
            Op::DownProj => "down_proj",
            Op::PostMlpNorm => "post_mlp_norm",
            Op::Output => "output",
            Op::FinalNorm => "final_norm",
            Op::Logits => "logits",
        }
    }
}

/// One exposed array: what it is, its full name and its shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The operator.
    pub op: Op,
    /// The full name, such as `layers.3.q_proj`.
    pub name: String,
    /// Two or three dimensions.
    pub shape: Vec<usize>,
}

impl Checkpoint {
    /// A checkpoint of layer `layer`, or outside the layers.
    pub fn new(op: Op, layer: Option<usize>, shape: Vec<usize>) -> Checkpoint {
        let name = match layer {
            Some(layer) => format!("layers.{}.{}", layer, op.name()),
            None => op.name().into(),
        };
        Checkpoint { op, name, shape }
    }
}
