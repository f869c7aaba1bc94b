//! The bias of a projection: one rounded addition behind the finished dot product.

/// Add the bias to each row of `y`; an empty bias is none.
pub fn add_bias(bias: &[f32], y: &mut [f32]) {
    if bias.is_empty() {
        return;
    }
    for row in y.chunks_exact_mut(bias.len()) {
        for (y, &b) in row.iter_mut().zip(bias) {
            *y += b;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_gets_the_same_vector() {
        let mut y = [1.0, 2.0, 3.0, 4.0];
        add_bias(&[], &mut y);
        add_bias(&[0.5, -2.0], &mut y);
        assert_eq!(y, [1.5, 0.0, 3.5, 2.0]);
    }
}
