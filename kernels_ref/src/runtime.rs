//! The forward pass, one step at a time: embedding, each layer, then final norm and logits.

use crate::bytes::reserve;
use crate::cache::Cache;
use crate::checkpoint::{Checkpoint, Op};
use crate::config::Config;
use crate::error::{ensure, Code, Error, Result};
use crate::model::{Layer, Model};
use crate::ops::attention::{sum_values, Head, Visibility};
use crate::ops::matmul::{matmul, Rows};
use crate::ops::nan::canonicalise;
use crate::ops::residual::add;
use crate::ops::rms_norm::rms_norm;
use crate::ops::rope::{angles, Rotation};
use crate::ops::swiglu::swiglu;
use crate::quant::Matrix;
use crate::topk::top_k;
use crate::workspace::{Extent, Workspace};

/// `flags` of a case: put it behind what the cache holds.
pub const APPEND: u32 = 1;
/// `flags` of a case: final norm and logits of the last token only.
pub const LAST_LOGITS: u32 = 2;

/// sin and cos are pinned below this position.
const POSITIONS: u32 = 1 << 20;

/// What to run. Absent positions count on from the cache; an absent mask shows every key.
pub struct Case<'a> {
    /// Token ids.
    pub tokens: &'a [u32],
    /// Positions, one a token.
    pub positions: Option<&'a [u32]>,
    /// 1 where queries may see this token's key, else 0; one a token.
    pub mask: Option<&'a [u8]>,
    /// `APPEND`, `LAST_LOGITS`.
    pub flags: u32,
}

/// A case under way.
struct Running {
    tokens: Vec<u32>,
    extent: Extent,
    next: usize,
}

/// A model, its cache and the case it runs.
pub struct Runtime<'a> {
    model: Model<'a>,
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
        Runtime { model, cache, work: Workspace::default(), running: None, exposed: Vec::new() }
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
        check_case(&self.model.config, case, past, &self.cache.shown)?;
        let tokens = case.tokens.len();
        let rows = if case.flags & LAST_LOGITS != 0 { 1 } else { tokens };
        let extent = Extent { tokens, keys: past + tokens, rows };
        self.work.fit(&self.model.config, extent)?;
        self.cache.reserve(tokens)?;
        match case.mask {
            Some(mask) => self.cache.shown.extend(mask.iter().map(|&shown| shown == 1)),
            None => self.cache.shown.resize(past + tokens, true),
        }
        let (cos, sin) = (&mut self.work.cos, &mut self.work.sin);
        for t in 0..tokens {
            let position = case.positions.map_or((past + t) as u32, |positions| positions[t]);
            if let Some(rope) = &self.model.config.rope {
                angles(position, &rope.full, cos, sin);
            }
        }
        let mut held = Vec::new();
        reserve(&mut held, tokens)?;
        held.extend_from_slice(case.tokens);
        self.running = Some(Running { tokens: held, extent, next: 0 });
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
        for &op in ops {
            canonicalise(self.work.array_mut(op));
            let shape = shape(&self.model.config, extent, op);
            self.exposed.push(Checkpoint::new(op, layer, shape));
        }
    }

    fn embed(&mut self) {
        let hidden = self.model.config.hidden;
        let tokens = self.running.iter().flat_map(|running| &running.tokens);
        for (row, &token) in self.work.output.chunks_exact_mut(hidden).zip(tokens) {
            self.model.embedding.decode_row(token as usize, row);
        }
    }

    fn layer(&mut self, i: usize, extent: Extent) {
        let (config, layer) = (&self.model.config, &self.model.layers[i]);
        let work = &mut self.work;
        std::mem::swap(&mut work.input, &mut work.output);
        rms_norm(&work.input, &layer.attn_norm, config.norm.eps, &mut work.attn_norm);
        let x = Rows::dense(&work.attn_norm, config.hidden);
        project(x, &layer.q_proj, &mut work.q_proj, &mut work.scratch);
        project(x, &layer.k_proj, &mut work.k_proj, &mut work.scratch);
        project(x, &layer.v_proj, &mut work.v_proj, &mut work.scratch);
        if let Some(rope) = &config.rope {
            let half = config.head_dim / 2;
            let rotation = Rotation { cos: &work.cos, sin: &work.sin, half, order: rope.order };
            rotation.rotate(&work.q_proj, config.heads, &mut work.q_rope);
            rotation.rotate(&work.k_proj, config.kv_heads, &mut work.k_rope);
        }
        let cache = &mut self.cache.layers[i];
        cache.keys.extend_from_slice(&work.k_rope);
        cache.values.extend_from_slice(&work.v_proj);
        let past = extent.keys - extent.tokens;
        let visibility = Visibility { past, shown: &self.cache.shown };
        for head in 0..config.heads {
            attend(config, work, &cache.keys, &cache.values, visibility, extent, head);
        }
        finish_layer(config, layer, work);
    }

    fn head(&mut self, extent: Extent) {
        let (config, work) = (&self.model.config, &mut self.work);
        let first = (extent.tokens - extent.rows) * config.hidden;
        let x = &work.output[first..];
        rms_norm(x, &self.model.final_norm, config.norm.eps, &mut work.final_norm);
        let x = Rows::dense(&work.final_norm, config.hidden);
        project(x, &self.model.lm_head, &mut work.logits, &mut work.scratch);
    }
}

fn project(x: Rows<'_>, w: &Matrix<'_>, y: &mut [f32], scratch: &mut crate::ops::matmul::Scratch) {
    matmul(x, w, y, w.rows(), scratch);
}

/// Scores, probabilities and value sums of one query head.
fn attend(
    config: &Config,
    work: &mut Workspace,
    keys: &[f32],
    values: &[f32],
    visibility: Visibility<'_>,
    extent: Extent,
    head: usize,
) {
    let dim = config.head_dim;
    let shared = head / (config.heads / config.kv_heads) * dim;
    let stride = config.kv_heads * dim;
    let queries = config.heads * dim;
    let q =
        Rows { data: &work.q_rope[head * dim..], rows: extent.tokens, cols: dim, stride: queries };
    let k = Rows { data: &keys[shared..], rows: extent.keys, cols: dim, stride };
    let area = extent.tokens * extent.keys;
    let range = head * area..(head + 1) * area;
    let scores = &mut work.attn_scores[range.clone()];
    matmul(q, &Matrix::View(k), scores, extent.keys, &mut work.scratch);
    let (masked, probs) = (&mut work.attn_masked[range.clone()], &mut work.attn_probs[range]);
    Head { scores, masked, probs }.normalise(config.attention_scale, visibility);
    for (t, probs) in probs.chunks_exact(extent.keys).enumerate() {
        let start = t * queries + head * dim;
        let y = &mut work.attn_values[start..start + dim];
        sum_values(probs, &values[shared..], stride, visibility, t, y);
    }
}

fn finish_layer(config: &Config, layer: &Layer<'_>, work: &mut Workspace) {
    let queries = config.heads * config.head_dim;
    let joined = Rows::dense(&work.attn_values, queries);
    project(joined, &layer.o_proj, &mut work.o_proj, &mut work.scratch);
    add(&work.input, &work.o_proj, &mut work.attn_residual);
    rms_norm(&work.attn_residual, &layer.mlp_norm, config.norm.eps, &mut work.mlp_norm);
    let x = Rows::dense(&work.mlp_norm, config.hidden);
    project(x, &layer.gate_proj, &mut work.gate_proj, &mut work.scratch);
    project(x, &layer.up_proj, &mut work.up_proj, &mut work.scratch);
    swiglu(&work.gate_proj, &work.up_proj, &mut work.mlp_act);
    let x = Rows::dense(&work.mlp_act, config.ffn);
    project(x, &layer.down_proj, &mut work.down_proj, &mut work.scratch);
    add(&work.attn_residual, &work.down_proj, &mut work.output);
}

fn shape(config: &Config, extent: Extent, op: Op) -> Vec<usize> {
    let Extent { tokens, keys, rows } = extent;
    let (heads, shared, dim) = (config.heads, config.kv_heads, config.head_dim);
    match op {
        Op::QProj | Op::AttnValues => vec![tokens, heads * dim],
        Op::KProj | Op::VProj => vec![tokens, shared * dim],
        Op::QRope => vec![tokens, heads, dim],
        Op::KRope => vec![tokens, shared, dim],
        Op::AttnScores | Op::AttnMasked | Op::AttnProbs => vec![heads, tokens, keys],
        Op::GateProj | Op::UpProj | Op::MlpAct => vec![tokens, config.ffn],
        Op::FinalNorm => vec![rows, config.hidden],
        Op::Logits => vec![rows, config.vocab],
        _ => vec![tokens, config.hidden],
    }
}

fn check_case(config: &Config, case: &Case<'_>, past: usize, shown: &[bool]) -> Result<()> {
    let tokens = case.tokens.len();
    ensure(tokens > 0, || Error::new(Code::EmptyCase, "tokens", "the case has none"))?;
    ensure(case.flags & !(APPEND | LAST_LOGITS) == 0, || {
        Error::new(Code::Argument, "flags", format!("{} has unknown bits", case.flags))
    })?;
    ensure(tokens <= config.max_positions.saturating_sub(past), || {
        let detail = format!("{} and {} tokens, at most {}", past, tokens, config.max_positions);
        Error::new(Code::Context, "tokens", detail)
    })?;
    if let Some(i) = case.tokens.iter().position(|&token| token as usize >= config.vocab) {
        let detail = format!("{} in a vocabulary of {}", case.tokens[i], config.vocab);
        return Err(Error::new(Code::TokenRange, format!("tokens[{}]", i), detail));
    }
    let positions = case.positions.unwrap_or(&[]);
    let last = (past + tokens - 1).min(u32::MAX as usize) as u32;
    let limit = config.max_positions.min(POSITIONS as usize) as u32;
    if let Some(&far) = positions.iter().chain(Some(&last)).find(|&&position| position >= limit) {
        let detail = format!("{}, the model has {} positions", far, limit);
        return Err(Error::new(Code::PositionRange, "positions", detail));
    }
    let mask = case.mask.unwrap_or(&[1]);
    if let Some(i) = mask.iter().position(|&shown| shown > 1) {
        return Err(Error::new(Code::Argument, format!("mask[{}]", i), "is neither 0 nor 1"));
    }
    // Causality makes the first query the one with the fewest keys.
    let sees = shown.contains(&true) || mask[0] == 1;
    ensure(sees, || Error::new(Code::NoVisibleKey, "mask[0]", "the first query sees no key"))
}
