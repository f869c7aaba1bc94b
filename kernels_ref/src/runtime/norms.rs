//! The norm that the configuration names, over rows of any place.

use crate::config::{Norm, NormKind};
use crate::model::NormWeights;
use crate::ops::layer_norm::layer_norm;
use crate::ops::order::Order;
use crate::ops::rms_norm::rms_norm;

/// Normalise each row of `x`, as long as the factor, into `y`.
pub fn normalise(order: Order, norm: Norm, weights: &NormWeights, x: &[f32], y: &mut [f32]) {
    match norm.kind {
        NormKind::Layer => layer_norm(order, x, &weights.factor, &weights.bias, norm.eps, y),
        NormKind::Rms | NormKind::RmsOffset => rms_norm(order, x, &weights.factor, norm.eps, y),
    }
}
