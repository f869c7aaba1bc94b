//! The largest logits of a row: descending value, then ascending id; NaN counts as lowest.

/// Whether `a` stands before `b` by value alone.
fn before(a: f32, b: f32) -> bool {
    a > b || (b.is_nan() && !a.is_nan())
}

/// Ids and values of the `ids.len()` largest entries of `row`; the slices have one length.
pub fn top_k(row: &[f32], ids: &mut [i64], values: &mut [f32]) {
    let mut held = 0;
    for (id, &value) in row.iter().enumerate() {
        if held == ids.len() {
            // Ids ascend, so an equal value never displaces one that is held.
            if held == 0 || !before(value, values[held - 1]) {
                continue;
            }
        } else {
            held += 1;
        }
        let mut at = held - 1;
        while at > 0 && before(value, values[at - 1]) {
            ids[at] = ids[at - 1];
            values[at] = values[at - 1];
            at -= 1;
        }
        ids[at] = id as i64;
        values[at] = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_lower_id_and_nan_comes_last() {
        let row = [1.0, f32::NAN, 3.0, -0.0, 3.0, 0.0, f32::NEG_INFINITY];
        let (mut ids, mut values) = ([0; 7], [0.0; 7]);
        top_k(&row, &mut ids, &mut values);
        assert_eq!(ids, [2, 4, 0, 3, 5, 6, 1]);
        let (mut ids, mut values) = ([0; 3], [0.0; 3]);
        top_k(&row, &mut ids, &mut values);
        assert_eq!((ids, values), ([2, 4, 0], [3.0, 3.0, 1.0]));
    }
}
