//! Packing and decoding with the widest lanes that the processor has.
//!
//! The same loops are compiled once more for wider registers. AVX2 alone is asked for, without
//! fused multiplication, so that every operation is rounded as it is in narrow lanes.

use crate::error::Result;
use crate::quant::encode::Packing;
use crate::quant::Grouped;

/// The place that errors of decoding name.
const PLACE: &str = "codes";

/// Pack rows of `cols` values into their planes.
pub fn pack(
    packing: &Packing<'_>,
    x: &[f32],
    cols: usize,
    codes: &mut [u8],
    scales: &mut [u8],
) -> Result<()> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // The processor has what the function was compiled for.
        return unsafe { pack_avx2(packing, x, cols, codes, scales) };
    }
    packing.pack_rows(x, cols, codes, scales)
}

/// Check and decode every row.
pub fn decode(matrix: &Grouped<'_>, y: &mut [f32]) -> Result<()> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // As above.
        return unsafe { decode_avx2(matrix, y) };
    }
    matrix.decode_checked(PLACE, y)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn pack_avx2(
    packing: &Packing<'_>,
    x: &[f32],
    cols: usize,
    codes: &mut [u8],
    scales: &mut [u8],
) -> Result<()> {
    packing.pack_rows(x, cols, codes, scales)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn decode_avx2(matrix: &Grouped<'_>, y: &mut [f32]) -> Result<()> {
    matrix.decode_checked(PLACE, y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quant::grouped::Form;
    use crate::quant::scales::Encoding;

    /// Values over many binades, some of them halfway between codes.
    fn values(count: usize) -> Vec<f32> {
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            state >> 8
        };
        (0..count)
            .map(|_| match next() % 4 {
                0 => (next() % 64) as f32 / 2.0 - 16.0,
                _ => (next() as f32 / 8388608.0 - 1.0) * 2f32.powi(next() as i32 % 20 - 10),
            })
            .collect()
    }

    #[test]
    fn wider_lanes_change_no_byte() {
        let fractions = [1.0, 0.9375, 0.75, 0.5];
        for form in [Form::Q8, Form::Q6, Form::Q5, Form::Q4] {
            for encoding in [Encoding::Fp16, Encoding::Bf16, Encoding::E8m0] {
                for (cols, fractions) in [(64, &fractions[..]), (200, &fractions), (131, &[])] {
                    let x = values(7 * cols);
                    let packing = Packing { form, encoding, fractions };
                    let planes = || {
                        let scales = form.groups(cols) * encoding.size();
                        (vec![0; 7 * form.stride(cols)], vec![0; 7 * scales])
                    };
                    let (mut codes, mut scales) = planes();
                    packing.pack_rows(&x, cols, &mut codes, &mut scales).unwrap();
                    let mut wide = planes();
                    pack(&packing, &x, cols, &mut wide.0, &mut wide.1).unwrap();
                    assert_eq!((&codes, &scales), (&wide.0, &wide.1));
                    let (codes, scales) = (&codes[..], &scales[..]);
                    let matrix = Grouped { form, encoding, codes, scales, cols, residual: None };
                    let mut decoded = [vec![0.0; x.len()], vec![1.0; x.len()]];
                    matrix.decode_checked(PLACE, &mut decoded[0]).unwrap();
                    decode(&matrix, &mut decoded[1]).unwrap();
                    let bits = |y: &[f32]| y.iter().map(|y| y.to_bits()).collect::<Vec<_>>();
                    assert_eq!(bits(&decoded[0]), bits(&decoded[1]));
                }
            }
        }
    }
}
