//! Rotary positions: `x1*c - x2*s` and `x2*c + x1*s`, each product rounded.

use super::elementary::sin_cos;
use crate::bytes::reserve;
use crate::error::Result;

/// Which coordinates of a head form a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RopeOrder {
    /// (i, i + E/2), as Hugging Face stores llama.
    HalfSplit,
    /// (2i, 2i + 1).
    Interleaved,
}

/// cos and sin of every token, one after another, as many a token as pairs rotate.
#[derive(Default)]
pub struct Angles {
    cos: Vec<f32>,
    sin: Vec<f32>,
}

impl Angles {
    /// Forget the tokens and make room for so many.
    pub fn fit(&mut self, tokens: usize, pairs: usize) -> Result<()> {
        reserve(&mut self.cos, tokens.saturating_mul(pairs))?;
        reserve(&mut self.sin, tokens.saturating_mul(pairs))
    }

    /// Append cos and sin of `position * inv_freq`, each times `factor`.
    ///
    /// The angle is the f32 product, as the source forms it.
    pub fn push(&mut self, position: u32, inv_freq: &[f32], factor: f32) {
        for &frequency in inv_freq {
            let (sine, cosine) = sin_cos(position as f32 * frequency);
            self.cos.push(cosine * factor);
            self.sin.push(sine * factor);
        }
    }

    /// The rotation by these angles.
    pub fn rotation(&self, pairs: usize, order: RopeOrder) -> Rotation<'_> {
        Rotation { cos: &self.cos, sin: &self.sin, pairs, order }
    }
}

/// cos and sin of every token, T x pairs each, and the pairing they belong to.
#[derive(Clone, Copy)]
pub struct Rotation<'a> {
    cos: &'a [f32],
    sin: &'a [f32],
    pairs: usize,
    order: RopeOrder,
}

impl Rotation<'_> {
    /// Rotate every head of every token: `x` and `y` are T x (heads * E).
    ///
    /// The first `2 * pairs` coordinates of a head turn, the others pass as they are.
    pub fn rotate(&self, x: &[f32], [heads, head_dim]: [usize; 2], y: &mut [f32]) {
        let (width, turned) = (heads * head_dim, 2 * self.pairs);
        let tables = self.cos.chunks_exact(self.pairs).zip(self.sin.chunks_exact(self.pairs));
        let rows = x.chunks_exact(width).zip(y.chunks_exact_mut(width));
        for ((x, y), (cos, sin)) in rows.zip(tables) {
            for (x, y) in x.chunks_exact(head_dim).zip(y.chunks_exact_mut(head_dim)) {
                let ((x, passed), (y, rest)) = (x.split_at(turned), y.split_at_mut(turned));
                match self.order {
                    RopeOrder::HalfSplit => half_split(x, cos, sin, y),
                    RopeOrder::Interleaved => interleaved(x, cos, sin, y),
                }
                rest.copy_from_slice(passed);
            }
        }
    }
}

fn half_split(x: &[f32], cos: &[f32], sin: &[f32], y: &mut [f32]) {
    let (x1, x2) = x.split_at(cos.len());
    let (y1, y2) = y.split_at_mut(cos.len());
    for i in 0..cos.len() {
        y1[i] = x1[i] * cos[i] - x2[i] * sin[i];
        y2[i] = x2[i] * cos[i] + x1[i] * sin[i];
    }
}

fn interleaved(x: &[f32], cos: &[f32], sin: &[f32], y: &mut [f32]) {
    let angles = cos.iter().zip(sin);
    for ((x, y), (&c, &s)) in x.chunks_exact(2).zip(y.chunks_exact_mut(2)).zip(angles) {
        y[0] = x[0] * c - x[1] * s;
        y[1] = x[1] * c + x[0] * s;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: [f32; 4] = [1.0, 2.0, 3.0, 4.0];

    fn rotated(order: RopeOrder) -> [f32; 4] {
        let mut y = [0.0; 4];
        let quarter = Rotation { cos: &[0.0, 1.0], sin: &[1.0, 0.0], pairs: 2, order };
        quarter.rotate(&X, [1, 4], &mut y);
        y
    }

    #[test]
    fn each_order_pairs_its_own_coordinates() {
        assert_eq!(rotated(RopeOrder::HalfSplit), [-3.0, 2.0, 1.0, 4.0]);
        assert_eq!(rotated(RopeOrder::Interleaved), [-2.0, 1.0, 3.0, 4.0]);
    }

    #[test]
    fn coordinates_beyond_the_pairs_pass() {
        let mut y = [0.0; 4];
        let quarter = Rotation { cos: &[0.0], sin: &[1.0], pairs: 1, order: RopeOrder::HalfSplit };
        quarter.rotate(&X, [1, 4], &mut y);
        assert_eq!(y, [-2.0, 1.0, 3.0, 4.0]);
    }

    #[test]
    fn position_zero_leaves_the_vector_but_for_the_factor() {
        let mut angles = Angles::default();
        angles.push(0, &[1.0, 0.01], 1.5);
        assert_eq!((angles.cos, angles.sin), (vec![1.5, 1.5], vec![0.0, 0.0]));
    }
}
