//! The directory's row of each tensor of the model: every one there, of its role and shape.

use super::parts::{layer_parts, outside_parts, Part};
use super::{Layer, NormWeights, Projection};
use crate::bytes::reserve;
use crate::config::{Config, NormKind};
use crate::error::{ensure, Code, Error, Result};
use crate::quant::sparse::Sparse;
use crate::quant::{Matrix, Words};
use crate::slm::descriptor::Descriptor;
use crate::slm::{numbers as n, Container};

const ABSENT: u32 = u32::MAX;

/// Rows of the directory: those of each layer, then those outside.
pub struct Slots<'c, 'a> {
    container: &'c Container<'a>,
    config: &'c Config,
    layer: Vec<Part>,
    outside: Vec<Part>,
    rows: Vec<u32>,
    residuals: Vec<u32>,
}

impl<'c, 'a> Slots<'c, 'a> {
    /// Find every tensor.
    pub fn find(container: &'c Container<'a>, config: &'c Config) -> Result<Slots<'c, 'a>> {
        let (layer, outside) = (layer_parts(config), outside_parts(config));
        // The directory lies in the file, so a count that matches it bounds the allocation.
        let expected = config.layers as u64 * layer.len() as u64 + outside.len() as u64;
        let found = u64::from(container.len());
        ensure(found >= expected, || {
            let detail = format!("{} tensors, {} layers need {}", found, config.layers, expected);
            Error::new(Code::TensorMissing, "directory", detail)
        })?;
        let mut rows = Vec::new();
        reserve(&mut rows, expected as usize)?;
        rows.resize(expected as usize, ABSENT);
        let mut residuals = Vec::new();
        reserve(&mut residuals, container.len() as usize)?;
        let mut slots = Slots { container, config, layer, outside, rows, residuals };
        for row in 0..container.len() {
            slots.take(row)?;
        }
        slots.check_complete()?;
        Ok(slots)
    }

    fn inside(&self) -> usize {
        self.config.layers * self.layer.len()
    }

    /// Slot of a name, and what is expected there.
    fn slot_of(&self, name: &str) -> Option<(usize, &Part)> {
        if let Some(i) = self.outside.iter().position(|part| part.is_named(name)) {
            return Some((self.inside() + i, &self.outside[i]));
        }
        let (number, rest) = name.strip_prefix("model.layers.")?.split_once('.')?;
        let layer = number.parse::<usize>().ok().filter(|&i| i < self.config.layers)?;
        let i = self.layer.iter().position(|part| part.is_named(rest))?;
        // "07" or "+7" is another name than "7".
        let canonical = format!("{}", layer) == number;
        Some((layer * self.layer.len() + i, &self.layer[i])).filter(|_| canonical)
    }

    fn take(&mut self, row: u32) -> Result<()> {
        let tensor = self.container.descriptor(row)?;
        if tensor.layout == n::LAYOUT_RESIDUAL {
            // The container has checked that it belongs to another tensor of the file.
            self.residuals.push(row);
            return Ok(());
        }
        let name = self.container.name(&tensor)?;
        let (slot, part) = self.slot_of(name).ok_or_else(|| {
            Error::new(Code::TensorUnexpected, name, "the configuration asks for no such tensor")
        })?;
        ensure(tensor.role == part.role, || {
            let role = |number: u16| n::ROLES.get(usize::from(number)).unwrap_or(&"?");
            let detail = format!("role {}, expected {}", role(tensor.role), role(part.role));
            Error::new(Code::TensorRole, name, detail)
        })?;
        let same = tensor.shape().iter().map(|&dim| u64::from(dim)).eq(part.shape.iter().copied());
        ensure(same, || {
            let detail = format!("{:?}, the configuration says {:?}", tensor.shape(), part.shape);
            Error::new(Code::TensorShape, name, detail)
        })?;
        let alias = tensor.layout == n::LAYOUT_ALIAS;
        let may_alias = part.role == n::ROLE_LM_HEAD && self.config.tied;
        ensure(alias == may_alias, || {
            let detail = "exactly the head of a tied model aliases the embedding";
            Error::new(Code::TensorUnexpected, name, detail)
        })?;
        self.rows[slot] = row;
        Ok(())
    }

    fn check_complete(&self) -> Result<()> {
        let slot = match self.rows.iter().position(|&row| row == ABSENT) {
            None => return Ok(()),
            Some(slot) => slot,
        };
        let name = if slot < self.inside() {
            let (layer, i) = (slot / self.layer.len(), slot % self.layer.len());
            format!("model.layers.{}.{}", layer, self.layer[i].name())
        } else {
            self.outside[slot - self.inside()].name()
        };
        Err(Error::new(Code::TensorMissing, name, "is not in the directory"))
    }

    /// The row of a role within a layer (or outside), or None where the model has no such tensor.
    fn row(&self, layer: Option<usize>, role: u16) -> Option<u32> {
        let (first, parts) = match layer {
            Some(layer) => (layer * self.layer.len(), &self.layer),
            None => (self.inside(), &self.outside),
        };
        let i = parts.iter().position(|part| part.role == role)?;
        self.rows.get(first + i).copied()
    }

    fn descriptor(&self, layer: Option<usize>, role: u16) -> Result<Option<Descriptor>> {
        match self.row(layer, role) {
            None => Ok(None),
            Some(row) => {
                let tensor = self.container.descriptor(row)?;
                self.container.payload_of(&tensor).map(Some)
            }
        }
    }

    /// Stored dtype of the first layer's query projection.
    pub fn dtype(&self) -> Result<u16> {
        Ok(self.descriptor(Some(0), n::ROLE_Q_PROJ)?.map_or(0, |tensor| tensor.dtype))
    }

    /// A matrix that the model may have.
    pub fn matrix(&self, layer: Option<usize>, role: u16) -> Result<Option<Matrix<'a>>> {
        let tensor = match self.descriptor(layer, role)? {
            None => return Ok(None),
            Some(tensor) => tensor,
        };
        if let Some(mut codes) = self.container.codes(&tensor)? {
            codes.residual = self.residual(tensor.name_id)?;
            return Ok(Some(Matrix::Grouped(codes)));
        }
        let [data, _] = tensor.planes()?;
        let cols = tensor.shape().last().map_or(0, |&cols| cols as usize);
        let words = Words { bytes: data.of(self.container.bytes, "data")?, cols };
        Ok(Some(match tensor.dtype {
            n::DTYPE_F16 => Matrix::F16(words),
            n::DTYPE_BF16 => Matrix::Bf16(words),
            _ => Matrix::F32(words),
        }))
    }

    /// The residual of the tensor of a name.
    fn residual(&self, base: u32) -> Result<Option<Sparse<'a>>> {
        for &row in &self.residuals {
            let tensor = self.container.descriptor(row)?;
            if self.container.descriptor(tensor.alias_of)?.name_id == base {
                return self.container.sparse(&tensor).map(Some);
            }
        }
        Ok(None)
    }

    /// A matrix that every model has.
    pub fn required(&self, layer: Option<usize>, role: u16) -> Result<Matrix<'a>> {
        self.matrix(layer, role)?.ok_or_else(|| {
            let name = n::ROLES.get(usize::from(role)).copied().unwrap_or("?");
            Error::new(Code::TensorMissing, name, "is not in the directory")
        })
    }

    /// A vector, decoded: norms and biases are small and used often. Empty where there is none.
    fn vector(&self, layer: Option<usize>, role: u16) -> Result<Vec<f32>> {
        let mut values = Vec::new();
        if let Some(matrix) = self.matrix(layer, role)? {
            reserve(&mut values, matrix.cols())?;
            values.resize(matrix.cols(), 0.0);
            matrix.decode_row(0, &mut values);
        }
        Ok(values)
    }

    /// A norm that the model may have.
    pub fn norm(&self, layer: Option<usize>, role: u16) -> Result<Option<NormWeights>> {
        let mut factor = self.vector(layer, role)?;
        if factor.is_empty() {
            return Ok(None);
        }
        if self.config.norm.kind == NormKind::RmsOffset {
            factor.iter_mut().for_each(|w| *w += 1.0);
        }
        Ok(Some(NormWeights { factor, bias: self.vector(layer, role + n::BIAS)? }))
    }

    fn projection(&self, layer: usize, role: u16) -> Result<Projection<'a>> {
        let weight = self.required(Some(layer), role)?;
        Ok(Projection { weight, bias: self.vector(Some(layer), role + n::BIAS)? })
    }

    /// The weights of one layer.
    pub fn layer(&self, i: usize) -> Result<Layer<'a>> {
        let gated = self.config.gated;
        Ok(Layer {
            attn_norm: self.norm(Some(i), n::ROLE_ATTN_NORM)?,
            q_proj: self.projection(i, n::ROLE_Q_PROJ)?,
            k_proj: self.projection(i, n::ROLE_K_PROJ)?,
            v_proj: self.projection(i, n::ROLE_V_PROJ)?,
            q_norm: self.norm(Some(i), n::ROLE_Q_NORM)?,
            k_norm: self.norm(Some(i), n::ROLE_K_NORM)?,
            o_proj: self.projection(i, n::ROLE_O_PROJ)?,
            post_attn_norm: self.norm(Some(i), n::ROLE_POST_ATTN_NORM)?,
            mlp_norm: self.norm(Some(i), n::ROLE_MLP_NORM)?,
            gate_proj: if gated { Some(self.projection(i, n::ROLE_GATE_PROJ)?) } else { None },
            up_proj: self.projection(i, n::ROLE_UP_PROJ)?,
            down_proj: self.projection(i, n::ROLE_DOWN_PROJ)?,
            post_mlp_norm: self.norm(Some(i), n::ROLE_POST_MLP_NORM)?,
        })
    }
}
