//! Rotary positions: `x1*c - x2*s` and `x2*c + x1*s`, each product rounded.

use super::elementary::sin_cos;

/// Which coordinates of a head form a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RopeOrder {
    /// (i, i + E/2), as Hugging Face stores llama.
    HalfSplit,
    /// (2i, 2i + 1).
    Interleaved,
}

/// Append cos and sin of `position * inv_freq`, E/2 values each.
///
/// The angle is the f32 product, as the source forms it.
pub fn angles(position: u32, inv_freq: &[f32], cos: &mut Vec<f32>, sin: &mut Vec<f32>) {
    for &frequency in inv_freq {
        let (sine, cosine) = sin_cos(position as f32 * frequency);
        cos.push(cosine);
        sin.push(sine);
    }
}

/// cos and sin of every token, T x E/2 each, and the pairing they belong to.
#[derive(Clone, Copy)]
pub struct Rotation<'a> {
    /// Cosines.
    pub cos: &'a [f32],
    /// Sines.
    pub sin: &'a [f32],
    /// E/2.
    pub half: usize,
    /// The pairing.
    pub order: RopeOrder,
}

impl Rotation<'_> {
    /// Rotate every head of every token: `x` and `y` are T x (heads * E).
    pub fn rotate(&self, x: &[f32], heads: usize, y: &mut [f32]) {
        let head_dim = 2 * self.half;
        let width = heads * head_dim;
        let tables = self.cos.chunks_exact(self.half).zip(self.sin.chunks_exact(self.half));
        let rows = x.chunks_exact(width).zip(y.chunks_exact_mut(width));
        for ((x, y), (cos, sin)) in rows.zip(tables) {
            for (x, y) in x.chunks_exact(head_dim).zip(y.chunks_exact_mut(head_dim)) {
                match self.order {
                    RopeOrder::HalfSplit => half_split(x, cos, sin, y),
                    RopeOrder::Interleaved => interleaved(x, cos, sin, y),
                }
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
        let quarter = Rotation { cos: &[0.0, 1.0], sin: &[1.0, 0.0], half: 2, order };
        quarter.rotate(&X, 1, &mut y);
        y
    }

    #[test]
    fn each_order_pairs_its_own_coordinates() {
        assert_eq!(rotated(RopeOrder::HalfSplit), [-3.0, 2.0, 1.0, 4.0]);
        assert_eq!(rotated(RopeOrder::Interleaved), [-2.0, 1.0, 3.0, 4.0]);
    }

    #[test]
    fn position_zero_leaves_the_vector() {
        let (mut cos, mut sin) = (Vec::new(), Vec::new());
        angles(0, &[1.0, 0.01], &mut cos, &mut sin);
        assert_eq!((cos, sin), (vec![1.0, 1.0], vec![0.0, 0.0]));
    }
}
