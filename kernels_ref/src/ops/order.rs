//! The order in which the terms of a sum are added: what an evaluation profile pins.

/// Accumulators of `Order::Lanes`.
pub const LANES: usize = 16;

/// An order of additions; each term is rounded before it is added, nothing is fused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One accumulator over ascending terms (`scalar-f32-v1`).
    Ascending,
    /// Term i in accumulator i mod 16, each ascending, then merged by halves (`lanes16-f32-v1`).
    Lanes,
}

impl Order {
    /// The order of a number of the ABI.
    pub fn of(number: u32) -> Option<Order> {
        match number {
            0 => Some(Order::Ascending),
            1 => Some(Order::Lanes),
            _ => None,
        }
    }

    /// The sum of the terms, from +0.0.
    #[inline]
    pub fn sum(self, terms: impl Iterator<Item = f32>) -> f32 {
        match self {
            Order::Ascending => terms.fold(0.0, |sum, term| sum + term),
            Order::Lanes => {
                let mut lanes = [0.0f32; LANES];
                terms.enumerate().for_each(|(i, term)| lanes[i % LANES] += term);
                merge(lanes)
            }
        }
    }
}

/// Lanes (l, l + 8), then (l, l + 4), (l, l + 2), (l, l + 1).
#[inline(always)]
pub fn merge(mut lanes: [f32; LANES]) -> f32 {
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for l in 0..width {
            lanes[l] += lanes[l + width];
        }
    }
    lanes[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_merged_by_halves() {
        let tiny = f32::EPSILON / 2.0;
        let mut terms = [0.0f32; 17];
        terms[0] = 1.0;
        terms[8] = tiny;
        terms[1] = tiny;
        // 1 + tiny is 1, twice: once with lane 8, once with lane 1.
        assert_eq!(Order::Lanes.sum(terms.into_iter()), 1.0);
        terms[9] = tiny;
        // Lanes 1 and 9 meet first, and are then large enough to be seen.
        assert_eq!(Order::Lanes.sum(terms.into_iter()), 1.0 + 2.0 * tiny);
        assert_eq!(Order::Ascending.sum(terms.into_iter()), 1.0);
        // Term 16 is lane 0's second.
        terms[16] = -1.0;
        assert_eq!(Order::Lanes.sum(terms.into_iter()), 3.0 * tiny);
    }

    #[test]
    fn other_numbers_are_none() {
        assert_eq!((Order::of(0), Order::of(1)), (Some(Order::Ascending), Some(Order::Lanes)));
        assert_eq!(Order::of(2), None);
    }
}
