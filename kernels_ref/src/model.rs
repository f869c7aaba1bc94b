//! A llama-family model over a container: every tensor found, of its shape, in its role.

use crate::bytes::reserve;
use crate::config::Config;
use crate::error::{ensure, Code, Error, Result};
use crate::quant::{F32Bytes, Matrix};
use crate::slm::descriptor::Descriptor;
use crate::slm::{numbers as n, Container};

/// Tensors of one layer, by their names behind `model.layers.{i}.`, with their roles.
const LAYER: [(&str, u16); 9] = [
    ("input_layernorm.weight", 9),
    ("self_attn.q_proj.weight", 2),
    ("self_attn.k_proj.weight", 3),
    ("self_attn.v_proj.weight", 4),
    ("self_attn.o_proj.weight", 5),
    ("post_attention_layernorm.weight", 10),
    ("mlp.gate_proj.weight", 6),
    ("mlp.up_proj.weight", 7),
    ("mlp.down_proj.weight", 8),
];

/// Tensors outside the layers.
const OUTSIDE: [(&str, u16); 3] =
    [("model.embed_tokens.weight", 1), ("model.norm.weight", 11), ("lm_head.weight", 12)];

/// Weights of one layer; matrices are out x in.
#[allow(missing_docs)]
pub struct Layer<'a> {
    pub attn_norm: Vec<f32>,
    pub q_proj: Matrix<'a>,
    pub k_proj: Matrix<'a>,
    pub v_proj: Matrix<'a>,
    pub o_proj: Matrix<'a>,
    pub mlp_norm: Vec<f32>,
    pub gate_proj: Matrix<'a>,
    pub up_proj: Matrix<'a>,
    pub down_proj: Matrix<'a>,
}

/// A model whose matrices lie in the container's bytes.
pub struct Model<'a> {
    /// The container.
    pub container: Container<'a>,
    /// The configuration.
    pub config: Config,
    /// V x D.
    pub embedding: Matrix<'a>,
    /// L layers.
    pub layers: Vec<Layer<'a>>,
    /// D.
    pub final_norm: Vec<f32>,
    /// V x D.
    pub lm_head: Matrix<'a>,
    /// Stored dtype of the first layer's query projection.
    pub dtype: u16,
}

impl<'a> Model<'a> {
    /// Check a file and open it in place.
    pub fn open(bytes: &'a [u8]) -> Result<Model<'a>> {
        let container = Container::parse(bytes)?;
        let config = Config::parse(container.config()?, &container.header)?;
        let slots = Slots::find(&container, &config)?;
        let mut layers = Vec::new();
        reserve(&mut layers, config.layers)?;
        for i in 0..config.layers {
            layers.push(slots.layer(i)?);
        }
        Ok(Model {
            embedding: slots.outside(0)?,
            layers,
            final_norm: slots.norm(slots.outside_slot(1))?,
            lm_head: slots.outside(2)?,
            dtype: slots.descriptor(1)?.dtype,
            container,
            config,
        })
    }
}

/// The directory row of each expected tensor: nine a layer, then those outside.
struct Slots<'c, 'a> {
    container: &'c Container<'a>,
    config: &'c Config,
    rows: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;

impl<'c, 'a> Slots<'c, 'a> {
    fn find(container: &'c Container<'a>, config: &'c Config) -> Result<Slots<'c, 'a>> {
        // The directory lies in the file, so a count that matches it bounds the allocation.
        let expected = config.layers as u64 * LAYER.len() as u64 + OUTSIDE.len() as u64;
        let found = u64::from(container.len());
        ensure(found >= expected, || {
            let detail = format!("{} tensors, {} layers need {}", found, config.layers, expected);
            Error::new(Code::TensorMissing, "directory", detail)
        })?;
        let mut slots = Slots { container, config, rows: Vec::new() };
        reserve(&mut slots.rows, expected as usize)?;
        slots.rows.resize(expected as usize, ABSENT);
        for row in 0..container.len() {
            slots.take(row)?;
        }
        slots.check_complete()?;
        Ok(slots)
    }

    fn outside_slot(&self, i: usize) -> usize {
        self.config.layers * LAYER.len() + i
    }

    /// Slot and role of a name.
    fn slot_of(&self, name: &str) -> Option<(usize, u16)> {
        if let Some(i) = OUTSIDE.iter().position(|(known, _)| *known == name) {
            return Some((self.outside_slot(i), OUTSIDE[i].1));
        }
        let (number, rest) = name.strip_prefix("model.layers.")?.split_once('.')?;
        let layer = number.parse::<usize>().ok().filter(|&i| i < self.config.layers)?;
        let i = LAYER.iter().position(|(known, _)| *known == rest)?;
        // "07" or "+7" is another name than "7".
        let canonical = format!("{}", layer) == number;
        Some((layer * LAYER.len() + i, LAYER[i].1)).filter(|_| canonical)
    }

    fn take(&mut self, row: u32) -> Result<()> {
        let tensor = self.container.descriptor(row)?;
        let name = self.container.name(&tensor)?;
        let (slot, role) = self.slot_of(name).ok_or_else(|| {
            Error::new(Code::TensorUnexpected, name, "the llama family has no such tensor")
        })?;
        ensure(tensor.role == role, || {
            let got = n::ROLES.get(usize::from(tensor.role)).unwrap_or(&"?");
            let detail = format!("role {}, expected {}", got, n::ROLES[usize::from(role)]);
            Error::new(Code::TensorRole, name, detail)
        })?;
        let shape = self.shape_of(role);
        let same = tensor.shape().iter().map(|&dim| u64::from(dim)).eq(shape.iter().copied());
        ensure(same, || {
            let detail = format!("{:?}, the configuration says {:?}", tensor.shape(), shape);
            Error::new(Code::TensorShape, name, detail)
        })?;
        let alias = tensor.layout == n::LAYOUT_ALIAS;
        let may_alias = role == n::ROLE_LM_HEAD && self.config.tied;
        ensure(alias == may_alias, || {
            Error::new(Code::Alias, name, "exactly the head of a tied model aliases the embedding")
        })?;
        self.rows[slot] = row;
        Ok(())
    }

    /// Dimensions that the configuration asks for.
    fn shape_of(&self, role: u16) -> Vec<u64> {
        let c = self.config;
        let (hidden, ffn) = (c.hidden as u64, c.ffn as u64);
        let (queries, keys) = (c.joined(c.heads), c.joined(c.kv_heads));
        match role {
            2 => vec![queries, hidden],
            3 | 4 => vec![keys, hidden],
            5 => vec![hidden, queries],
            6 | 7 => vec![ffn, hidden],
            8 => vec![hidden, ffn],
            n::ROLE_EMBEDDING | n::ROLE_LM_HEAD => vec![c.vocab as u64, hidden],
            _ => vec![hidden],
        }
    }

    fn check_complete(&self) -> Result<()> {
        let absent = self.rows.iter().position(|&row| row == ABSENT);
        match absent {
            None => Ok(()),
            Some(slot) => {
                let inside = self.config.layers * LAYER.len();
                let name = if slot < inside {
                    format!("model.layers.{}.{}", slot / LAYER.len(), LAYER[slot % LAYER.len()].0)
                } else {
                    OUTSIDE[slot - inside].0.into()
                };
                Err(Error::new(Code::TensorMissing, name, "is not in the directory"))
            }
        }
    }

    fn descriptor(&self, slot: usize) -> Result<Descriptor> {
        let tensor = self.container.descriptor(self.rows[slot])?;
        self.container.payload_of(&tensor)
    }

    fn matrix(&self, slot: usize) -> Result<Matrix<'a>> {
        let tensor = self.descriptor(slot)?;
        if let Some(q8) = self.container.q8(&tensor)? {
            return Ok(Matrix::Q8(q8));
        }
        let [data, _] = tensor.planes()?;
        let cols = tensor.shape().last().map_or(0, |&cols| cols as usize);
        Ok(Matrix::F32(F32Bytes { bytes: data.of(self.container.bytes, "data")?, cols }))
    }

    fn outside(&self, i: usize) -> Result<Matrix<'a>> {
        self.matrix(self.outside_slot(i))
    }

    /// A vector, decoded: norms are small and used often.
    fn norm(&self, slot: usize) -> Result<Vec<f32>> {
        let matrix = self.matrix(slot)?;
        let mut values = Vec::new();
        reserve(&mut values, self.config.hidden)?;
        values.resize(self.config.hidden, 0.0);
        matrix.decode_row(0, &mut values);
        Ok(values)
    }

    fn layer(&self, i: usize) -> Result<Layer<'a>> {
        let first = i * LAYER.len();
        Ok(Layer {
            attn_norm: self.norm(first)?,
            q_proj: self.matrix(first + 1)?,
            k_proj: self.matrix(first + 2)?,
            v_proj: self.matrix(first + 3)?,
            o_proj: self.matrix(first + 4)?,
            mlp_norm: self.norm(first + 5)?,
            gate_proj: self.matrix(first + 6)?,
            up_proj: self.matrix(first + 7)?,
            down_proj: self.matrix(first + 8)?,
        })
    }
}
