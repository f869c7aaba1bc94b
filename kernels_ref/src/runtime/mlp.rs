//! The second half of a layer: the MLP, and the residual behind it.

use super::pass::Pass;
use crate::config::Activation;
use crate::ops::activation::activate;
use crate::ops::elementary::ErfSeries;
use crate::ops::gelu::{gelu_erf, gelu_tanh};
use crate::ops::matmul::Rows;
use crate::ops::residual::add;
use crate::ops::swiglu::silu;
use crate::workspace::Workspace;

impl Pass<'_> {
    /// `mlp_norm` to `output`.
    pub fn transform(&self, work: &mut Workspace) {
        let (config, layer) = (self.config, self.layer);
        let x = self.normed(&layer.mlp_norm, &work.attn_residual, &mut work.mlp_norm);
        let x = Rows::dense(x, config.hidden);
        if let Some(gate) = &layer.gate_proj {
            self.project(x, gate, &mut work.gate_proj, &mut work.scratch);
        }
        self.project(x, &layer.up_proj, &mut work.up_proj, &mut work.scratch);
        let gate = layer.gate_proj.as_ref().map(|_| &work.gate_proj[..]);
        let (up, y) = (&work.up_proj, &mut work.mlp_act);
        match config.activation {
            Activation::Silu => activate(silu, gate, up, y),
            Activation::GeluTanh => activate(gelu_tanh, gate, up, y),
            Activation::GeluErf => {
                let series = ErfSeries::new();
                activate(|x| gelu_erf(x, &series), gate, up, y);
            }
        }
        let x = Rows::dense(&work.mlp_act, config.ffn);
        self.project(x, &layer.down_proj, &mut work.down_proj, &mut work.scratch);
        let update = self.normed(&layer.post_mlp_norm, &work.down_proj, &mut work.post_mlp_norm);
        add(&work.attn_residual, update, &mut work.output);
    }
}
