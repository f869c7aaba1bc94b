//! Causal attention of one head: scores, mask, softmax over the visible keys, value sums.

use super::elementary::{exp, softcap};
use super::order::Order;

/// What a masked score reads as: the most negative finite f32.
pub const MASKED: f32 = f32::MIN;

/// Which keys a query may see: none behind it, none that the case hides, none before its window.
#[derive(Clone, Copy)]
pub struct Visibility<'a> {
    /// Keys before the first query of this case.
    pub past: usize,
    /// One entry a key; hidden keys are false.
    pub shown: &'a [bool],
    /// Keys that a query sees at most, its own among them; `NO_WINDOW` for all.
    pub window: usize,
}

/// A window that holds every key.
pub const NO_WINDOW: usize = usize::MAX;

impl<'a> Visibility<'a> {
    /// The visible keys of query `t`, ascending.
    #[inline]
    pub fn keys(self, t: usize) -> impl Iterator<Item = usize> + 'a {
        let shown = &self.shown[..=self.past + t];
        let first = shown.len().saturating_sub(self.window);
        (first..shown.len()).filter(move |&key| shown[key])
    }
}

/// Scores before and after masking, and their softmax, of one head: T x S each.
pub struct Head<'a> {
    /// Unscaled dot products on entry, scaled scores on return.
    pub scores: &'a mut [f32],
    /// Scores with `MASKED` at invisible keys.
    pub masked: &'a mut [f32],
    /// Probabilities, +0.0 at invisible keys.
    pub probs: &'a mut [f32],
}

impl Head<'_> {
    /// Scale, cap, mask and normalise each row. Sums run over the visible keys, oldest first.
    pub fn normalise(
        &mut self,
        order: Order,
        scale: f32,
        cap: Option<f32>,
        visibility: Visibility<'_>,
    ) {
        let keys = visibility.shown.len();
        let rows = self.scores.chunks_exact_mut(keys).zip(self.masked.chunks_exact_mut(keys));
        for (t, ((scores, masked), probs)) in
            rows.zip(self.probs.chunks_exact_mut(keys)).enumerate()
        {
            scores.iter_mut().for_each(|score| *score *= scale);
            if let Some(cap) = cap {
                scores.iter_mut().for_each(|score| *score = softcap(*score, cap));
            }
            masked.fill(MASKED);
            probs.fill(0.0);
            for key in visibility.keys(t) {
                masked[key] = scores[key];
            }
            softmax(order, scores, probs, visibility, t);
        }
    }
}

/// Softmax of row `t` over its visible keys; other entries of `probs` are left alone.
pub fn softmax(
    order: Order,
    scores: &[f32],
    probs: &mut [f32],
    visibility: Visibility<'_>,
    t: usize,
) {
    let mut largest = f32::NEG_INFINITY;
    for key in visibility.keys(t) {
        // A NaN stays the largest, so that it reaches every probability of the row.
        if scores[key] > largest || scores[key].is_nan() {
            largest = scores[key];
        }
    }
    for key in visibility.keys(t) {
        probs[key] = exp(scores[key] - largest);
    }
    let sum = order.sum(visibility.keys(t).map(|key| probs[key]));
    for key in visibility.keys(t) {
        probs[key] /= sum;
    }
}

/// Value sums of one head and one query: `y[e] = sum over visible keys of p[key] * v[key][e]`.
///
/// `values` begins at the head's first channel of key 0; keys are `stride` apart.
pub fn sum_values(
    probs: &[f32],
    values: &[f32],
    stride: usize,
    visibility: Visibility<'_>,
    t: usize,
    y: &mut [f32],
) {
    y.fill(0.0);
    for key in visibility.keys(t) {
        let row = &values[key * stride..key * stride + y.len()];
        for (y, &value) in y.iter_mut().zip(row) {
            *y += probs[key] * value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_and_future_keys_are_left_out() {
        let (mut scores, mut masked, mut probs) = ([4.0; 6], [0.0; 6], [9.0; 6]);
        let visibility = Visibility { past: 1, shown: &[false, true, true], window: NO_WINDOW };
        let mut head = Head { scores: &mut scores, masked: &mut masked, probs: &mut probs };
        head.normalise(Order::Ascending, 0.25, None, visibility);
        assert_eq!(scores, [1.0; 6]);
        assert_eq!(masked, [MASKED, 1.0, MASKED, MASKED, 1.0, 1.0]);
        assert_eq!(probs[..3], [0.0, 1.0, 0.0]);
        let mut y = [7.0];
        sum_values(&probs[3..], &[100.0, 1.0, 3.0], 1, visibility, 1, &mut y);
        if cfg!(not(feature = "exp_ulp_off")) {
            assert_eq!(y, [2.0]);
        }
    }

    #[test]
    fn a_window_ends_with_the_querys_own_key() {
        let visibility = Visibility { past: 2, shown: &[true, true, false, true, true], window: 3 };
        let keys = |t| visibility.keys(t).collect::<Vec<_>>();
        assert_eq!((keys(0), keys(1), keys(2)), (vec![0, 1], vec![1, 3], vec![3, 4]));
    }

    #[test]
    fn a_cap_comes_before_the_mask() {
        let (mut scores, mut masked, mut probs) = ([f32::MAX, f32::MAX], [0.0; 2], [0.0; 2]);
        let visibility = Visibility { past: 0, shown: &[true, true], window: NO_WINDOW };
        let mut head = Head { scores: &mut scores, masked: &mut masked, probs: &mut probs };
        head.normalise(Order::Ascending, 1.0, Some(2.0), visibility);
        assert_eq!((scores, masked, probs), ([2.0, 2.0], [2.0, MASKED], [1.0, 0.0]));
    }

    #[test]
    fn a_nan_score_reaches_the_row() {
        let (mut scores, mut masked, mut probs) = ([f32::NAN, 1.0], [0.0; 2], [0.0; 2]);
        let visibility = Visibility { past: 1, shown: &[true, true], window: NO_WINDOW };
        let mut head = Head { scores: &mut scores, masked: &mut masked, probs: &mut probs };
        head.normalise(Order::Ascending, 1.0, None, visibility);
        assert!(probs.iter().all(|p| p.is_nan()));
    }
}
