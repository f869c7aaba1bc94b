//! LayerNorm: `m = sum(x)/n`, `v = sum((x-m)^2)/n`, `y = ((x-m) * (1/sqrt(v+eps))) * w + b`, both
//! sums in an order of additions.

use super::order::Order;

/// Normalise each row of `x` (rows x n, n = `weight.len()`) into `y` of the same shape.
pub fn layer_norm(order: Order, x: &[f32], weight: &[f32], bias: &[f32], eps: f32, y: &mut [f32]) {
    let n = weight.len();
    for (x, y) in x.chunks_exact(n).zip(y.chunks_exact_mut(n)) {
        let mean = order.sum(x.iter().copied()) / n as f32;
        for (y, &x) in y.iter_mut().zip(x) {
            *y = x - mean;
        }
        let squares = order.sum(y.iter().map(|&y| y * y));
        let scale = 1.0 / (squares / n as f32 + eps).sqrt();
        for ((y, &w), &b) in y.iter_mut().zip(weight).zip(bias) {
            *y = (*y * scale) * w + b;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_variance_factor_and_bias() {
        let mut y = [0.0; 2];
        layer_norm(Order::Ascending, &[1.0, 7.0], &[1.0, 2.0], &[0.5, -1.0], 7.0, &mut y);
        assert_eq!(y, [-3.0 * 0.25 + 0.5, 3.0 * 0.25 * 2.0 - 1.0]);
    }
}
