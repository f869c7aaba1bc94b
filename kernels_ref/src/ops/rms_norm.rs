//! RMSNorm: `y = w * (x * (1 / sqrt(sum(x*x)/n + eps)))`, the sum in an order of additions.

use super::order::Order;

/// Normalise each row of `x` (rows x n, n = `weight.len()`) into `y` of the same shape.
pub fn rms_norm(order: Order, x: &[f32], weight: &[f32], eps: f32, y: &mut [f32]) {
    let n = weight.len();
    for (x, y) in x.chunks_exact(n).zip(y.chunks_exact_mut(n)) {
        let sum = order.sum(x.iter().map(|&value| value * value));
        let scale = 1.0 / (sum / n as f32 + eps).sqrt();
        for ((y, &x), &w) in y.iter_mut().zip(x).zip(weight) {
            *y = w * (x * scale);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epsilon_stands_inside_the_root() {
        let mut y = [0.0; 2];
        rms_norm(Order::Ascending, &[3.0, 4.0], &[1.0, 2.0], 3.5, &mut y);
        assert_eq!(y, [3.0 * 0.25, 2.0 * (4.0 * 0.25)]);
    }
}
