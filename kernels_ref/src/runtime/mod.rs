//! The forward pass, one step at a time: embedding, each layer, then final norm and logits.

mod attention;
mod case;
mod mlp;
mod norms;
mod pass;

use crate::bytes::reserve;
use crate::cache::Cache;
use crate::checkpoint::{Checkpoint, Op};
use crate::error::{ensure, Code, Error, Result};
use crate::model::Model;
use crate::ops::attention::{Visibility, NO_WINDOW};
use crate::ops::elementary::softcap;
use crate::ops::matmul::{matmul, Rows};
use crate::ops::nan::canonicalise;
use crate::ops::order::Order;
use crate::topk::top_k;
use crate::workspace::{Extent, Workspace};
pub use case::{Case, APPEND, LAST_LOGITS};
use norms::normalise;
use pass::Pass;

/// A case under way.
struct Running {
    tokens: Vec<u32>,
    positions: Vec<u32>,
    extent: Extent,
    next: usize,
}

/// A model, its cache and the case it runs.
pub struct Runtime<'a> {
    model: Model<'a>,
    order: Order,
    cache: Cache,
    work: Workspace,
    running: Option<Running>,
    exposed: Vec<Checkpoint>,
}

impl<'a> Runtime<'a> {
    /// A runtime with an empty cache.
    pub fn new(model: Model<'a>) -> Runtime<'a> {
        let width = model.config.kv_heads * model.config.head_dim;
        let cache = Cache::new(model.config.layers, width);
        Runtime {
            model,
            order: Order::Ascending,
            cache,
            work: Workspace::default(),
            running: None,
            exposed: Vec::new(),
        }
    }

    /// The order of additions of all cases from now on; what is cached in another is refused.
    pub fn set_order(&mut self, order: Order) -> Result<()> {
        let free = order == self.order || (self.running.is_none() && self.cache.len() == 0);
        ensure(free, || Error::new(Code::Argument, "order", "a case was begun in another"))?;
        self.order = order;
        Ok(())
    }

    /// The model.
    pub fn model(&self) -> &Model<'a> {
        &self.model
    }

    /// Tokens in the cache.
    pub fn cached(&self) -> usize {
        self.cache.len()
    }

    /// Number of steps of a case.
    pub fn steps(&self) -> usize {
        self.model.config.layers + 2
    }

    /// Checkpoints of the last step, in ladder order.
    pub fn exposed(&self) -> &[Checkpoint] {
        &self.exposed
    }

    /// Values of an exposed checkpoint.
    pub fn values(&self, checkpoint: &Checkpoint) -> &[f32] {
        self.work.array(checkpoint.op)
    }

    /// Start a case: check it, make room for all of it. A refused case leaves none running.
    pub fn begin(&mut self, case: &Case<'_>) -> Result<()> {
        self.running = None;
        self.exposed.clear();
        self.cache.rewind(case.flags & APPEND != 0);
        let past = self.cache.len();
        case.check(&self.model.config, &self.cache.shown)?;
        let tokens = case.tokens.len();
        let rows = if case.flags & LAST_LOGITS != 0 { 1 } else { tokens };
        let extent = Extent { tokens, keys: past + tokens, rows };
        self.work.fit(&self.model.config, self.order, extent)?;
        self.cache.reserve(tokens)?;
        let (mut held, mut positions) = (Vec::new(), Vec::new());
        reserve(&mut held, tokens)?;
        reserve(&mut positions, tokens)?;
        held.extend_from_slice(case.tokens);
        positions.extend((0..tokens).map(|t| case.position(past, t)));
        match case.mask {
            Some(mask) => self.cache.shown.extend(mask.iter().map(|&shown| shown == 1)),
            None => self.cache.shown.resize(past + tokens, true),
        }
        if let Some(rope) = &self.model.config.rope {
            for &position in &positions {
                self.work.angles.push(position, &rope.full, rope.factor);
                self.work.local_angles.push(position, &rope.local, rope.factor);
            }
        }
        self.running = Some(Running { tokens: held, positions, extent, next: 0 });
        Ok(())
    }

    /// Make the next step. False where none is left; what the last one exposed then stays.
    pub fn step(&mut self) -> Result<bool> {
        let absent = || Error::new(Code::NoCase, "step", "no case was begun");
        let running = self.running.as_mut().ok_or_else(absent)?;
        let (step, layers, extent) = (running.next, self.model.config.layers, running.extent);
        if step == layers + 2 {
            return Ok(false);
        }
        running.next = step + 1;
        self.exposed.clear();
        if step == 0 {
            self.embed();
            self.expose(&[Op::Embedding], None, extent);
        } else if step <= layers {
            self.layer(step - 1, extent);
            self.expose(&Op::LAYER, Some(step - 1), extent);
        } else {
            self.head(extent);
            self.cache.commit();
            self.expose(&[Op::FinalNorm, Op::Logits], None, extent);
        }
        Ok(true)
    }

    /// The `k` largest logits of each row, after the last step.
    pub fn top_k(&self, k: usize, ids: &mut [i64], values: &mut [f32]) -> Result<()> {
        let ready = self.exposed.last().map_or(false, |last| last.op == Op::Logits);
        ensure(ready, || Error::new(Code::NoCase, "top_k", "there are no logits"))?;
        let vocab = self.model.config.vocab;
        let rows = self.work.logits.chunks_exact(vocab);
        for ((row, ids), values) in
            rows.zip(ids.chunks_exact_mut(k)).zip(values.chunks_exact_mut(k))
        {
            top_k(row, ids, values);
        }
        Ok(())
    }

    /// Rows of the logits of the running case.
    pub fn logit_rows(&self) -> usize {
        self.running.as_ref().map_or(0, |running| running.extent.rows)
    }

    fn expose(&mut self, ops: &[Op], layer: Option<usize>, extent: Extent) {
        let config = &self.model.config;
        for &op in ops.iter().filter(|op| op.is_in(config)) {
            canonicalise(self.work.vector(op));
            self.exposed.push(Checkpoint::new(op, layer, extent.shape(config, op)));
        }
    }

    fn embed(&mut self) {
        let (config, embedding) = (&self.model.config, &self.model.embedding);
        let tokens = self.running.iter().flat_map(|running| &running.tokens);
        for (row, &token) in self.work.output.chunks_exact_mut(config.hidden).zip(tokens) {
            embedding.look_up(token as usize, row);
            row.iter_mut().for_each(|value| *value *= config.embedding_scale);
        }
    }

    /// Learned positions enter where the residual stream enters the first layer.
    fn add_positions(&mut self) {
        let table = match &self.model.positions {
            None => return,
            Some(table) => table,
        };
        let (input, learned) = (&mut self.work.input, &mut self.work.position);
        let positions = self.running.iter().flat_map(|running| &running.positions);
        for (row, &position) in input.chunks_exact_mut(learned.len()).zip(positions) {
            table.look_up(position as usize, learned);
            row.iter_mut().zip(learned.iter()).for_each(|(x, &learned)| *x += learned);
        }
    }

    fn layer(&mut self, i: usize, extent: Extent) {
        std::mem::swap(&mut self.work.input, &mut self.work.output);
        if i == 0 {
            self.add_positions();
        }
        let (config, layer) = (&self.model.config, &self.model.layers[i]);
        let slides = config.slides[i];
        let visibility = Visibility {
            past: extent.keys - extent.tokens,
            shown: &self.cache.shown,
            window: config.window.filter(|_| slides).unwrap_or(NO_WINDOW),
        };
        let pass = Pass { config, layer, slides, extent, visibility, order: self.order };
        pass.attend(&mut self.work, &mut self.cache.layers[i]);
        pass.transform(&mut self.work);
    }

    fn head(&mut self, extent: Extent) {
        let (config, work) = (&self.model.config, &mut self.work);
        let first = (extent.tokens - extent.rows) * config.hidden;
        let x = &work.output[first..];
        normalise(self.order, config.norm, &self.model.final_norm, x, &mut work.final_norm);
        let (x, head) = (Rows::dense(&work.final_norm, config.hidden), &self.model.lm_head);
        matmul(self.order, x, head, &mut work.logits, head.rows(), &mut work.scratch);
        if let Some(cap) = config.logit_cap {
            work.logits.iter_mut().for_each(|logit| *logit = softcap(*logit, cap));
        }
    }
}
