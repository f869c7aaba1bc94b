//! What the two halves of a layer share.

use crate::config::Config;
use crate::model::{Layer, NormWeights, Projection};
use crate::ops::attention::Visibility;
use crate::ops::bias::add_bias;
use crate::ops::matmul::{matmul, Rows, Scratch};
use crate::ops::order::Order;
use crate::workspace::Extent;

use super::norms::normalise;

/// One layer and the case that goes through it.
#[derive(Clone, Copy)]
pub struct Pass<'p> {
    pub config: &'p Config,
    pub layer: &'p Layer<'p>,
    /// Whether the layer slides.
    pub slides: bool,
    pub extent: Extent,
    pub visibility: Visibility<'p>,
    pub order: Order,
}

impl Pass<'_> {
    /// The norm of `x` in `y`, or `x` itself where the model has none here.
    pub fn normed<'x>(
        &self,
        weights: &Option<NormWeights>,
        x: &'x [f32],
        y: &'x mut [f32],
    ) -> &'x [f32] {
        match weights {
            None => x,
            Some(weights) => {
                normalise(self.order, self.config.norm, weights, x, y);
                y
            }
        }
    }

    /// Rows of `x` through a projection, its bias added last.
    pub fn project(
        &self,
        x: Rows<'_>,
        projection: &Projection<'_>,
        y: &mut [f32],
        scratch: &mut Scratch,
    ) {
        matmul(self.order, x, &projection.weight, y, projection.weight.rows(), scratch);
        add_bias(&projection.bias, y);
    }
}
