//! The activation of an MLP: of the gate, times up; or of the one projection of a plain MLP.

/// `y = f(gate) * up`, or `y = f(up)` without a gate, elementwise over slices of one length.
#[inline(always)]
pub fn activate(f: impl Fn(f32) -> f32, gate: Option<&[f32]>, up: &[f32], y: &mut [f32]) {
    match gate {
        Some(gate) => {
            for ((y, &g), &u) in y.iter_mut().zip(gate).zip(up) {
                *y = f(g) * u;
            }
        }
        None => {
            for (y, &x) in y.iter_mut().zip(up) {
                *y = f(x);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_multiplies_what_it_does_not_activate() {
        let (gate, up, mut y) = ([2.0, 3.0], [5.0, 7.0], [0.0; 2]);
        activate(|x| x + 1.0, Some(&gate), &up, &mut y);
        assert_eq!(y, [15.0, 28.0]);
        activate(|x| x + 1.0, None, &up, &mut y);
        assert_eq!(y, [6.0, 8.0]);
    }
}
