//! One spelling of NaN.
//!
//! Which NaN an operation gives is the processor's choice; that it gives one is not. Replacing them
//! in every exposed array makes native and WebAssembly agree without a check at each operation.

/// The bits that stand for every NaN.
pub const CANONICAL: u32 = 0x7fc0_0000;

/// Replace every NaN.
pub fn canonicalise(values: &mut [f32]) {
    for value in values {
        if value.is_nan() {
            *value = f32::from_bits(CANONICAL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_nan_changes() {
        let bits = [0xffc0_0001u32, 0x7f80_0001, 0x7f80_0000, 0x8000_0000];
        let mut values = bits.map(f32::from_bits);
        canonicalise(&mut values);
        assert_eq!(values.map(f32::to_bits), [CANONICAL, CANONICAL, 0x7f80_0000, 0x8000_0000]);
    }
}
