//! The whole of grouped-query attention under any mask, from the forward pass's own parts.

use super::rows::{require_visible, softmax_rows, zero_rows, zeros};
use super::{answer, Array};
use crate::error::{ensure, Code, Error, Result};
use crate::ops::attention::{sum_values, Visibility};
use crate::ops::elementary::softcap;
use crate::ops::matmul::{matmul, Rows, Scratch};
use crate::quant::Matrix;

/// Lengths of the axes: queries, keys, query heads, key/value heads, channels.
struct Extent {
    queries: usize,
    keys: usize,
    heads: usize,
    shared: usize,
    width: usize,
}

/// Operands in working memory.
struct Operands {
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
    visible: Vec<bool>,
    scale: f32,
    cap: f32,
}

/// q (T, H, E), k (S, K, E), v (S, K, E), visible (T, S), scale (), cap (), zero_rows ().
///
/// A cap of 0 is none.
pub fn attention(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    let [queries, heads, width] = inputs[0].axes::<3>("q")?;
    let [keys, shared, _] = inputs[1].axes::<3>("k")?;
    ensure(heads % shared == 0, || {
        Error::new(Code::Argument, "q", format!("{} heads share {}", heads, shared))
    })?;
    let extent = Extent { queries, keys, heads, shared, width };
    let operands = Operands {
        q: inputs[0].f32s(&[queries, heads, width], "q")?,
        k: inputs[1].f32s(&[keys, shared, width], "k")?,
        v: inputs[2].f32s(&[keys, shared, width], "v")?,
        visible: inputs[3].mask(&[queries, keys], "visible")?,
        scale: inputs[4].number("scale")?,
        cap: inputs[5].number("cap")?,
    };
    if !zero_rows(&inputs[6])? {
        require_visible(&operands.visible, keys)?;
    }
    let mut y = zeros(operands.q.len())?;
    attend(&extent, &operands, &mut y)?;
    answer(&mut outputs[0], &[queries, heads, width], y)
}

fn attend(extent: &Extent, operands: &Operands, y: &mut [f32]) -> Result<()> {
    let Extent { queries, keys, heads, shared, width } = *extent;
    let Operands { q, k, v, visible, scale, cap } = operands;
    let area = queries.checked_mul(keys).ok_or_else(|| {
        Error::new(Code::OutOfMemory, "allocation", format!("{} x {} scores", queries, keys))
    })?;
    let (mut scores, mut probs, mut scratch) = (zeros(area)?, zeros(area)?, Scratch::default());
    scratch.fit(queries, width)?;
    for head in 0..heads {
        let group = head / (heads / shared) * width;
        let stride = shared * width;
        let rows =
            Rows { data: &q[head * width..], rows: queries, cols: width, stride: heads * width };
        let against = Matrix::View(Rows { data: &k[group..], rows: keys, cols: width, stride });
        matmul(rows, &against, &mut scores, keys, &mut scratch);
        for score in &mut scores {
            *score *= scale;
            if *cap != 0.0 {
                *score = softcap(*score, *cap);
            }
        }
        softmax_rows(&scores, visible, keys, &mut probs);
        for (t, (probs, shown)) in
            probs.chunks_exact(keys).zip(visible.chunks_exact(keys)).enumerate()
        {
            let start = (t * heads + head) * width;
            let visibility = Visibility { past: keys - 1, shown };
            sum_values(probs, &v[group..], stride, visibility, 0, &mut y[start..start + width]);
        }
    }
    Ok(())
}
