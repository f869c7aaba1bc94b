//! The whole of grouped-query attention under any mask, from the forward pass's own parts.

use super::rows::{require_visible, softmax_rows, zero_rows, zeros};
use super::{answer, Array, Kind};
use crate::error::{ensure, Code, Error, Result};
use crate::ops::attention::{sum_values, Visibility, NO_WINDOW};
use crate::ops::elementary::softcap;
use crate::ops::matmul::{matmul, Rows, Scratch};
use crate::ops::order::Order;
use crate::quant::Matrix;

/// Lengths of the axes: queries, keys, query heads, key/value heads, channels, value channels.
struct Extent {
    queries: usize,
    keys: usize,
    heads: usize,
    shared: usize,
    width: usize,
    value_width: usize,
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

/// q (T, H, E), k (S, K, E), v (S, K, C), visible (T, S), scale (), cap (), zero_rows ().
///
/// A cap of 0 is none.
pub fn attention(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    let [queries, heads, width] = inputs[0].axes::<3>("q")?;
    let [keys, shared, _] = inputs[1].axes::<3>("k")?;
    ensure(heads % shared == 0, || {
        Error::new(Code::Argument, "q", format!("{} heads share {}", heads, shared))
    })?;
    let [_, _, value_width] = inputs[2].axes::<3>("v")?;
    let extent = Extent { queries, keys, heads, shared, width, value_width };
    let operands = Operands {
        q: inputs[0].f32s(&[queries, heads, width], "q")?,
        k: inputs[1].f32s(&[keys, shared, width], "k")?,
        v: inputs[2].f32s(&[keys, shared, value_width], "v")?,
        visible: inputs[3].mask(&[queries, keys], "visible")?,
        scale: inputs[4].number("scale")?,
        cap: inputs[5].number("cap")?,
    };
    if !zero_rows(&inputs[6])? {
        require_visible(&operands.visible, keys)?;
    }
    let shape = [queries, heads, value_width];
    outputs[0].expect(Kind::F32, &shape, "y")?;
    let mut y = zeros(queries * heads * value_width)?;
    attend(&extent, &operands, &mut y)?;
    answer(&mut outputs[0], &shape, y)
}

fn attend(extent: &Extent, operands: &Operands, y: &mut [f32]) -> Result<()> {
    let Extent { queries, keys, heads, shared, width, value_width } = *extent;
    let Operands { q, k, v, visible, scale, cap } = operands;
    let area = queries.checked_mul(keys).ok_or_else(|| {
        Error::new(Code::OutOfMemory, "allocation", format!("{} x {} scores", queries, keys))
    })?;
    let (mut scores, mut probs, mut scratch) = (zeros(area)?, zeros(area)?, Scratch::default());
    scratch.fit(Order::Ascending, queries, width)?;
    for head in 0..heads {
        let group = head / (heads / shared);
        let stride = shared * width;
        let rows =
            Rows { data: &q[head * width..], rows: queries, cols: width, stride: heads * width };
        let against =
            Matrix::View(Rows { data: &k[group * width..], rows: keys, cols: width, stride });
        matmul(Order::Ascending, rows, &against, &mut scores, keys, &mut scratch);
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
            let start = (t * heads + head) * value_width;
            let visibility = Visibility { past: keys - 1, shown, window: NO_WINDOW };
            let (v, y) = (&v[group * value_width..], &mut y[start..start + value_width]);
            sum_values(probs, v, shared * value_width, visibility, 0, y);
        }
    }
    Ok(())
}
