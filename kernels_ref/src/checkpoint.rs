//! Names and shapes of what a step exposes.

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
    QRope,
    KRope,
    AttnScores,
    AttnMasked,
    AttnProbs,
    AttnValues,
    OProj,
    AttnResidual,
    MlpNorm,
    GateProj,
    UpProj,
    MlpAct,
    DownProj,
    Output,
    FinalNorm,
    Logits,
}

impl Op {
    /// The checkpoints of a layer, in order.
    pub const LAYER: [Op; 19] = [
        Op::Input,
        Op::AttnNorm,
        Op::QProj,
        Op::KProj,
        Op::VProj,
        Op::QRope,
        Op::KRope,
        Op::AttnScores,
        Op::AttnMasked,
        Op::AttnProbs,
        Op::AttnValues,
        Op::OProj,
        Op::AttnResidual,
        Op::MlpNorm,
        Op::GateProj,
        Op::UpProj,
        Op::MlpAct,
        Op::DownProj,
        Op::Output,
    ];

    /// The name, without its layer.
    pub fn name(self) -> &'static str {
        match self {
            Op::Embedding => "embedding",
            Op::Input => "input",
            Op::AttnNorm => "attn_norm",
            Op::QProj => "q_proj",
            Op::KProj => "k_proj",
            Op::VProj => "v_proj",
            Op::QRope => "q_rope",
            Op::KRope => "k_rope",
            Op::AttnScores => "attn_scores",
            Op::AttnMasked => "attn_masked",
            Op::AttnProbs => "attn_probs",
            Op::AttnValues => "attn_values",
            Op::OProj => "o_proj",
            Op::AttnResidual => "attn_residual",
            Op::MlpNorm => "mlp_norm",
            Op::GateProj => "gate_proj",
            Op::UpProj => "up_proj",
            Op::MlpAct => "mlp_act",
            Op::DownProj => "down_proj",
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
