//! The same lanes in wider registers, chosen when the processor is known.
//!
//! The compiler may use the wider registers inside the functions below, and nothing else that the
//! processor has: without a fused multiply-add among their features every product is rounded.

use super::lanes::{all_tokens, Place};

/// The registers of the processor at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// What the target has for certain: four lanes a register, in WebAssembly too.
    Plain,
    /// Eight lanes a register.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// Sixteen lanes a register.
    #[cfg(all(target_arch = "x86_64", trlm_avx512))]
    Avx512,
}

impl Width {
    /// All that this processor has, the widest last.
    pub fn all() -> Vec<Width> {
        #[allow(unused_mut)]
        let mut found = vec![Width::Plain];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            found.push(Width::Avx2);
        }
        #[cfg(all(target_arch = "x86_64", trlm_avx512))]
        if is_x86_feature_detected!("avx512f") {
            found.push(Width::Avx512);
        }
        found
    }

    /// The widest.
    pub fn best() -> Width {
        #[cfg(all(target_arch = "x86_64", trlm_avx512))]
        if is_x86_feature_detected!("avx512f") {
            return Width::Avx512;
        }
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            return Width::Avx2;
        }
        Width::Plain
    }

    /// Lanes of a register.
    pub fn lanes(self) -> u32 {
        match self {
            Width::Plain => 4,
            #[cfg(target_arch = "x86_64")]
            Width::Avx2 => 8,
            #[cfg(all(target_arch = "x86_64", trlm_avx512))]
            Width::Avx512 => 16,
        }
    }

    /// All tokens against some rows.
    pub fn multiply(self, x: &[f32], w: &[f32], width: usize, y: Place<'_>) {
        match self {
            Width::Plain => all_tokens::<1, 2>(x, w, width, y),
            // SAFETY: `best` and `all` give these only where the processor has the registers.
            #[cfg(target_arch = "x86_64")]
            Width::Avx2 => unsafe { avx2(x, w, width, y) },
            #[cfg(all(target_arch = "x86_64", trlm_avx512))]
            Width::Avx512 => unsafe { avx512(x, w, width, y) },
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2(x: &[f32], w: &[f32], width: usize, y: Place<'_>) {
    all_tokens::<2, 2>(x, w, width, y)
}

#[cfg(all(target_arch = "x86_64", trlm_avx512))]
#[target_feature(enable = "avx512f")]
unsafe fn avx512(x: &[f32], w: &[f32], width: usize, y: Place<'_>) {
    all_tokens::<4, 4>(x, w, width, y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_gives_the_same_bits() {
        let (width, tokens, rows) = (48, 5, 4);
        let value = |i: usize| ((i * 2654435761) % 65521) as f32 / 65521.0 - 0.5;
        let x: Vec<f32> = (0..tokens * width).map(value).collect();
        let w: Vec<f32> = (0..rows * width).map(|i| value(i + 7)).collect();
        let answers: Vec<Vec<u32>> = Width::all()
            .into_iter()
            .map(|kernel| {
                let mut y = vec![0.0f32; tokens * rows];
                let place = Place { y: &mut y, stride: rows, first: 0 };
                kernel.multiply(&x, &w, width, place);
                y.iter().map(|value| value.to_bits()).collect()
            })
            .collect();
        assert_eq!(*Width::all().last().unwrap(), Width::best());
        assert!(answers.iter().all(|answer| *answer == answers[0]));
    }
}
