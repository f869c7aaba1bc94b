//! The effective configuration: every field known, of its type, in range and computed here.

use crate::cbor::{Item, Reader};
use crate::error::{ensure, Code, Error, Result};
use crate::ops::rope::RopeOrder;
use crate::slm::header::Header;

/// A llama-family configuration that this runtime computes.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// V.
    pub vocab: usize,
    /// D.
    pub hidden: usize,
    /// F.
    pub ffn: usize,
    /// L.
    pub layers: usize,
    /// H.
    pub heads: usize,
    /// K.
    pub kv_heads: usize,
    /// E.
    pub head_dim: usize,
    /// Longest sequence.
    pub max_positions: usize,
    /// Epsilon of RMSNorm.
    pub rms_eps: f32,
    /// Base of the rotary frequencies; already in `inv_freq`.
    pub rope_theta: f32,
    /// E/2 inverse frequencies.
    pub inv_freq: Vec<f32>,
    /// Pairing of coordinates.
    pub rope_order: RopeOrder,
    /// Factor of the scores.
    pub attention_scale: f32,
    /// Whether the output projection is the embedding.
    pub tied: bool,
}

/// Field names in the order of the encoding; all must be there, and no other.
const FIELDS: [&str; 22] = [
    "head_dim",
    "mlp_bias",
    "hidden_act",
    "model_type",
    "rope_order",
    "rope_theta",
    "vocab_size",
    "hidden_size",
    "bos_token_id",
    "eos_token_id",
    "pad_token_id",
    "rms_norm_eps",
    "unk_token_id",
    "rope_inv_freq",
    "attention_bias",
    "attention_scale",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "tie_word_embeddings",
    "max_position_embeddings",
];

fn field(name: &str, detail: impl Into<String>) -> Error {
    Error::new(Code::ConfigField, format!("configuration.{}", name), detail)
}

/// The value of one field, read by its expected type.
struct Field<'r, 'a> {
    reader: &'r mut Reader<'a>,
    name: &'static str,
}

impl<'a> Field<'_, 'a> {
    fn ill_typed(&self, item: Item<'_>, wanted: &str) -> Error {
        field(self.name, format!("{}, expected {}", item.kind(), wanted))
    }

    fn size(&mut self) -> Result<usize> {
        match self.reader.item()? {
            Item::Unsigned(value @ 1..=0x7fff_ffff) => Ok(value as usize),
            other => Err(self.ill_typed(other, "an integer of 1 to 2^31 - 1")),
        }
    }

    fn float(&mut self) -> Result<f32> {
        match self.reader.item()? {
            Item::Float(value) if f64::from(value as f32) == value => Ok(value as f32),
            other => Err(self.ill_typed(other, "a float32 value")),
        }
    }

    fn positive(&mut self) -> Result<f32> {
        let value = self.float()?;
        ensure(value > 0.0, || field(self.name, "is not above 0"))?;
        Ok(value)
    }

    fn flag(&mut self) -> Result<bool> {
        match self.reader.item()? {
            Item::Bool(value) => Ok(value),
            other => Err(self.ill_typed(other, "true or false")),
        }
    }

    fn text(&mut self) -> Result<&'a str> {
        match self.reader.item()? {
            Item::Text(value) => Ok(value),
            other => Err(self.ill_typed(other, "a text")),
        }
    }

    fn computed<T: Copy>(&mut self, known: &[(&str, T)]) -> Result<T> {
        let text = self.text()?;
        let found = known.iter().find(|(name, _)| *name == text);
        found.map(|&(_, value)| value).ok_or_else(|| self.unsupported(text))
    }

    fn unsupported(&self, value: &str) -> Error {
        let place = format!("configuration.{}", self.name);
        Error::new(Code::ConfigUnsupported, place, format!("{} is not computed", value))
    }

    fn no_bias(&mut self) -> Result<()> {
        let bias = self.flag()?;
        ensure(!bias, || self.unsupported("true"))
    }

    fn optional_token(&mut self) -> Result<()> {
        match self.reader.item()? {
            Item::Null | Item::Unsigned(0..=0x7fff_ffff) => Ok(()),
            other => Err(self.ill_typed(other, "a token id or null")),
        }
    }

    fn array(&mut self) -> Result<u64> {
        match self.reader.item()? {
            Item::Array(len) => Ok(len),
            other => Err(self.ill_typed(other, "a list")),
        }
    }

    fn tokens(&mut self) -> Result<()> {
        for _ in 0..self.array()? {
            match self.reader.item()? {
                Item::Unsigned(0..=0x7fff_ffff) => (),
                other => return Err(self.ill_typed(other, "token ids")),
            }
        }
        Ok(())
    }

    /// A list of `len` floats; the caller has checked `len` against the header.
    fn floats(&mut self, len: usize) -> Result<Vec<f32>> {
        let found = self.array()?;
        ensure(found == len as u64, || {
            field(self.name, format!("{} values, expected {}", found, len))
        })?;
        let mut values = Vec::new();
        for _ in 0..len {
            let value = self.float()?;
            values.push(value);
        }
        Ok(values)
    }
}

impl Config {
    /// Decode the section and compare it with the header.
    pub fn parse(bytes: &[u8], header: &Header) -> Result<Config> {
        let mut reader = Reader::new(bytes);
        match reader.item()? {
            Item::Map(len) if len == FIELDS.len() as u64 => (),
            Item::Map(len) => {
                return Err(field("*", format!("{} fields, expected {}", len, FIELDS.len())))
            }
            _ => return Err(Error::new(Code::Cbor, "configuration", "is no map")),
        }
        let config = Config::fields(&mut reader)?;
        reader.end()?;
        config.check_shape()?;
        config.check_header(header)?;
        Ok(config)
    }

    fn fields(reader: &mut Reader<'_>) -> Result<Config> {
        let mut previous = None;
        let mut next = |reader: &mut Reader<'_>, name: &'static str| -> Result<()> {
            let key = reader.key(previous)?;
            previous = Some(name);
            ensure(key == name, || field(name, format!("found {} in its place", key)))
        };
        macro_rules! read {
            ($name:literal, $($call:tt)+) => {{
                next(reader, $name)?;
                Field { reader, name: $name }.$($call)+?
            }};
        }
        let head_dim = read!("head_dim", size());
        read!("mlp_bias", no_bias());
        read!("hidden_act", computed(&[("silu", ())]));
        read!("model_type", computed(&[("llama", ())]));
        let orders =
            [("half_split", RopeOrder::HalfSplit), ("interleaved", RopeOrder::Interleaved)];
        let rope_order = read!("rope_order", computed(&orders));
        let rope_theta = read!("rope_theta", positive());
        let vocab = read!("vocab_size", size());
        let hidden = read!("hidden_size", size());
        read!("bos_token_id", optional_token());
        read!("eos_token_id", tokens());
        read!("pad_token_id", optional_token());
        let rms_eps = read!("rms_norm_eps", positive());
        read!("unk_token_id", optional_token());
        let inv_freq = read!("rope_inv_freq", floats(head_dim / 2));
        read!("attention_bias", no_bias());
        Ok(Config {
            vocab,
            hidden,
            head_dim,
            rms_eps,
            rope_theta,
            inv_freq,
            rope_order,
            attention_scale: read!("attention_scale", positive()),
            ffn: read!("intermediate_size", size()),
            layers: read!("num_hidden_layers", size()),
            heads: read!("num_attention_heads", size()),
            kv_heads: read!("num_key_value_heads", size()),
            tied: read!("tie_word_embeddings", flag()),
            max_positions: read!("max_position_embeddings", size()),
        })
    }

    fn check_shape(&self) -> Result<()> {
        ensure(self.heads % self.kv_heads == 0, || {
            field(
                "num_key_value_heads",
                format!("{} does not divide {}", self.kv_heads, self.heads),
            )
        })?;
        ensure(self.head_dim % 2 == 0, || field("head_dim", format!("{} is odd", self.head_dim)))
    }

    fn check_header(&self, header: &Header) -> Result<()> {
        let own = [
            self.vocab,
            self.layers,
            self.heads,
            self.kv_heads,
            self.head_dim,
            self.ffn,
            self.max_positions,
            self.hidden,
        ];
        let names = [
            "vocab",
            "layers",
            "heads",
            "kv_heads",
            "head_dim",
            "ffn",
            "max_context_declared",
            "hidden",
        ];
        let floats = [
            ("rope_theta", header.rope_theta, self.rope_theta.to_bits()),
            ("rms_eps", header.rms_eps, self.rms_eps.to_bits()),
        ];
        let sizes = names.iter().zip(header.shape).zip(own);
        let rows = sizes.map(|((&name, theirs), own)| (name, theirs, own as u32)).chain(floats);
        for (name, theirs, own) in rows {
            ensure(theirs == own, || {
                let detail = format!("{} in the header, {} in the configuration", theirs, own);
                Error::new(Code::ConfigDisagrees, format!("header.{}", name), detail)
            })?;
        }
        Ok(())
    }

    /// H * E, K * E: both below 2^62, and checked against tensor dimensions before they are used.
    pub fn joined(&self, heads: usize) -> u64 {
        heads as u64 * self.head_dim as u64
    }
}
