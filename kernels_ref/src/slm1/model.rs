//! A model over an SLM1 file: the same forward pass, with the matrices where they lie.

use super::entry::F32;
use super::names::{at, LAYER};
use super::{config, File};
use crate::bytes::reserve;
use crate::error::{Code, Error, Result};
use crate::model::{Layer, Model, NormWeights, Projection, Source};
use crate::quant::Matrix;

/// Numbers of SLM1's dtypes beside those of SLM2, where both are told to a host.
const QUANTIZED: u16 = 256;

/// Check a file and open it in place.
pub fn open(bytes: &[u8]) -> Result<Model<'_>> {
    let file = File::parse(bytes)?;
    let config = config::config(&file.header)?;
    let mut layers = Vec::new();
    reserve(&mut layers, config.layers)?;
    for i in 0..config.layers {
        layers.push(file.layer(i)?);
    }
    let dtype = file.tensors[file.slot(0, at::WQ)].map_or(0, |entry| match entry.dtype {
        F32 => F32 as u16,
        other => QUANTIZED + other as u16,
    });
    let last = file.tensors.len() - 1;
    let head = if file.tensors[last].is_some() { last } else { 0 };
    Ok(Model {
        embedding: file.matrix(0)?,
        positions: None,
        layers,
        final_norm: file.norm(last - 1)?,
        lm_head: file.matrix(head)?,
        dtype,
        config,
        file: Source::Slm1(file),
    })
}

impl<'a> File<'a> {
    fn slot(&self, layer: usize, place: usize) -> usize {
        1 + LAYER.len() * layer + place
    }

    fn matrix(&self, slot: usize) -> Result<Matrix<'a>> {
        let absent = || Error::new(Code::TensorMissing, format!("tensor {}", slot), "is absent");
        let entry = self.tensors[slot].ok_or_else(absent)?;
        Ok(Matrix::Slm1(entry.stored(self.bytes)?))
    }

    /// Norms are small and used often, so they are decoded.
    fn norm(&self, slot: usize) -> Result<NormWeights> {
        let matrix = self.matrix(slot)?;
        let mut factor = Vec::new();
        reserve(&mut factor, matrix.cols())?;
        factor.resize(matrix.cols(), 0.0);
        matrix.decode_row(0, &mut factor);
        Ok(NormWeights { factor, bias: Vec::new() })
    }

    fn layer(&self, i: usize) -> Result<Layer<'a>> {
        let norm = |place: usize| self.norm(self.slot(i, place)).map(Some);
        let projection = |place: usize| -> Result<Projection<'a>> {
            Ok(Projection { weight: self.matrix(self.slot(i, place))?, bias: Vec::new() })
        };
        Ok(Layer {
            attn_norm: norm(at::ATTN_NORM)?,
            q_proj: projection(at::WQ)?,
            k_proj: projection(at::WK)?,
            v_proj: projection(at::WV)?,
            q_norm: None,
            k_norm: None,
            o_proj: projection(at::WO)?,
            post_attn_norm: None,
            mlp_norm: norm(at::FFN_NORM)?,
            gate_proj: Some(projection(at::W1)?),
            up_proj: projection(at::W3)?,
            down_proj: projection(at::W2)?,
            post_mlp_norm: None,
        })
    }
}
