//! What the fields of a configuration must be to one another: twin of
//! `trlm_lab/base/records/config_rules.py`.

use super::field::broken;
use super::fields::Fields;
use super::{Norm, NormKind, Placement, QkNorm, Rope};
use crate::error::{ensure, Result};

/// Bases of rotary frequencies.
const THETA: std::ops::RangeInclusive<f32> = 1.0..=1e12;

/// The norm of the model: exactly one epsilon says which.
pub fn norm(fields: &Fields) -> Result<Norm> {
    let norm = match (fields.rms_norm_eps, fields.layer_norm_epsilon) {
        (Some(eps), None) if fields.norm_unit_offset => Norm { kind: NormKind::RmsOffset, eps },
        (Some(eps), None) => Norm { kind: NormKind::Rms, eps },
        (None, Some(eps)) => Norm { kind: NormKind::Layer, eps },
        (Some(_), Some(_)) => return Err(broken("rms_norm_eps", "both epsilons are given")),
        (None, None) => return Err(broken("rms_norm_eps", "neither epsilon is given")),
    };
    let name = if norm.kind == NormKind::Layer { "layer_norm_epsilon" } else { "rms_norm_eps" };
    ensure((f32::MIN_POSITIVE..=1.0).contains(&norm.eps), || {
        broken(name, format!("{:e} is not in 2^-126 to 1", norm.eps))
    })?;
    ensure(norm.kind != NormKind::Layer || !fields.norm_unit_offset, || {
        broken("norm_unit_offset", "only an RMS norm has the factor 1 + w")
    })?;
    // Norms behind a part, and those of queries and keys, have no place for a bias in the format.
    let plain = fields.norm_placement == Placement::Pre && fields.qk_norm == QkNorm::None;
    ensure(norm.kind != NormKind::Layer || plain, || {
        broken("layer_norm_epsilon", "a LayerNorm stands before attention and the MLP alone")
    })?;
    Ok(norm)
}

/// The rotation, or None where positions are learned.
pub fn rope(fields: &Fields) -> Result<Option<Rope>> {
    let (pairs, local) = (fields.rope_inv_freq.len(), fields.rope_local_inv_freq.len());
    let base = fields.rope_local_base_freq;
    ensure((local > 0) == base.is_some(), || {
        broken("rope_local_inv_freq", "stands with its base alone")
    })?;
    let order = match fields.rope_order {
        Some(order) => order,
        None => return no_rope(fields).map(|()| None),
    };
    for (name, theta) in [("rope_theta", Some(fields.rope_theta)), ("rope_local_base_freq", base)] {
        ensure(theta.map_or(true, |theta| THETA.contains(&theta)), || {
            broken(name, "is not in 1 to 1e12")
        })?;
    }
    let width = fields.head_dim;
    ensure(width % 2 == 0, || broken("head_dim", format!("{} is odd", width)))?;
    ensure(pairs > 0, || broken("rope_inv_freq", "is empty"))?;
    ensure(local == 0 || local == pairs, || {
        broken("rope_local_inv_freq", format!("{} values beside {}", local, pairs))
    })?;
    Ok(Some(Rope {
        theta: fields.rope_theta,
        order,
        factor: fields.rope_attention_factor,
        full: fields.rope_inv_freq.clone(),
        local: fields.rope_local_inv_freq.clone(),
    }))
}

fn no_rope(fields: &Fields) -> Result<()> {
    ensure(fields.rope_theta.to_bits() == 0, || broken("rope_theta", "is not 0 without rotation"))?;
    let empty = fields.rope_inv_freq.is_empty() && fields.rope_local_inv_freq.is_empty();
    ensure(empty, || broken("rope_inv_freq", "frequencies without rotation"))?;
    ensure(fields.rope_attention_factor == 1.0, || {
        broken("rope_attention_factor", "is not 1 without rotation")
    })
}

/// Heads, layers and their windows.
pub fn layers(fields: &Fields) -> Result<()> {
    let (heads, shared) = (fields.num_attention_heads, fields.num_key_value_heads);
    ensure(heads % shared == 0, || {
        broken("num_key_value_heads", format!("{} does not divide {}", shared, heads))
    })?;
    let (types, depth) = (fields.layer_types.len(), fields.num_hidden_layers);
    ensure(types == depth, || {
        broken("layer_types", format!("{} types for {} layers", types, depth))
    })?;
    let slides = fields.layer_types.contains(&true);
    ensure(fields.sliding_window.is_some() == slides, || {
        broken("sliding_window", "stands exactly where a layer slides")
    })?;
    ensure(slides || fields.rope_local_inv_freq.is_empty(), || {
        broken("rope_local_inv_freq", "no layer slides")
    })
}
