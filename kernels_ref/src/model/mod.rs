//! A model over a container: every tensor that the configuration asks for, and no other.

mod parts;
mod slots;

use crate::bytes::reserve;
use crate::config::Config;
use crate::error::{Code, Error, Result};
use crate::quant::Matrix;
use crate::slm::{numbers as n, verify, Container};
use crate::slm1;
use slots::Slots;

/// A projection: its matrix, out x in, and its bias.
pub struct Projection<'a> {
    /// The matrix, in the file.
    pub weight: Matrix<'a>,
    /// One value a row, or none.
    pub bias: Vec<f32>,
}

/// A norm: its factor and its bias.
pub struct NormWeights {
    /// w, or 1 + w where the configuration says so.
    pub factor: Vec<f32>,
    /// As long as the factor, or empty for an RMS norm.
    pub bias: Vec<f32>,
}

/// Weights of one layer; None is what the model does not have.
#[allow(missing_docs)]
pub struct Layer<'a> {
    pub attn_norm: Option<NormWeights>,
    pub q_proj: Projection<'a>,
    pub k_proj: Projection<'a>,
    pub v_proj: Projection<'a>,
    pub q_norm: Option<NormWeights>,
    pub k_norm: Option<NormWeights>,
    pub o_proj: Projection<'a>,
    pub post_attn_norm: Option<NormWeights>,
    pub mlp_norm: Option<NormWeights>,
    pub gate_proj: Option<Projection<'a>>,
    pub up_proj: Projection<'a>,
    pub down_proj: Projection<'a>,
    pub post_mlp_norm: Option<NormWeights>,
}

/// The checked file that a model lies in.
pub enum Source<'a> {
    /// SLM2.
    Slm2(Container<'a>),
    /// SLM1.
    Slm1(slm1::File<'a>),
}

impl Source<'_> {
    /// Recompute the hashes that the bits of `what` name; SLM1 has its checksum in place of all.
    pub fn verify(&self, what: u32) -> Result<()> {
        match self {
            Source::Slm2(container) => verify::verify(container, what),
            Source::Slm1(file) => slm1::checksum::verify(file.bytes),
        }
    }
}

/// A model whose matrices lie in the file's bytes.
pub struct Model<'a> {
    /// The file.
    pub file: Source<'a>,
    /// The configuration.
    pub config: Config,
    /// V x D.
    pub embedding: Matrix<'a>,
    /// One row a position, D columns, where positions are learned.
    pub positions: Option<Matrix<'a>>,
    /// L layers.
    pub layers: Vec<Layer<'a>>,
    /// D.
    pub final_norm: NormWeights,
    /// V x D.
    pub lm_head: Matrix<'a>,
    /// Stored dtype of the first layer's query projection.
    pub dtype: u16,
}

impl<'a> Model<'a> {
    /// Check a file and open it in place.
    pub fn open(bytes: &'a [u8]) -> Result<Model<'a>> {
        if bytes.starts_with(slm1::MAGIC) {
            return slm1::open(bytes);
        }
        let container = Container::parse(bytes)?;
        let config = Config::parse(container.config()?, &container.header)?;
        container.check_content()?;
        let slots = Slots::find(&container, &config)?;
        let mut layers = Vec::new();
        reserve(&mut layers, config.layers)?;
        for i in 0..config.layers {
            layers.push(slots.layer(i)?);
        }
        let absent = || Error::new(Code::TensorMissing, "model.norm.weight", "is not there");
        Ok(Model {
            embedding: slots.required(None, n::ROLE_EMBEDDING)?,
            positions: slots.matrix(None, n::ROLE_POSITION_EMBEDDING)?,
            layers,
            final_norm: slots.norm(None, n::ROLE_FINAL_NORM)?.ok_or_else(absent)?,
            lm_head: slots.required(None, n::ROLE_LM_HEAD)?,
            dtype: slots.dtype()?,
            file: Source::Slm2(container),
            config,
        })
    }
}
