//! q8 keys and values as operators: vectors are rows.

use super::rows::zeros;
use super::{answer, Array, Kind};
use crate::bytes::reserve;
use crate::error::Result;
use crate::quant::q8_kv;

/// x (N, E) to codes (N, E) and scales (N).
pub fn quantize(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    let shape = inputs[0].axes::<2>("x")?;
    let x = inputs[0].f32s(&shape, "x")?;
    outputs[0].expect(Kind::I8, &shape, "codes")?;
    outputs[1].expect(Kind::F16, &shape[..1], "scale")?;
    let (mut codes, mut scales) = (Vec::new(), Vec::new());
    reserve(&mut codes, x.len())?;
    reserve(&mut scales, shape[0])?;
    codes.resize(x.len(), 0);
    for (n, (vector, codes)) in
        x.chunks_exact(shape[1]).zip(codes.chunks_exact_mut(shape[1])).enumerate()
    {
        scales.push(q8_kv::quantize(vector, &format!("x vector {}", n), codes)?);
    }
    outputs[0].store(&codes, i8::to_le_bytes);
    outputs[1].store(&scales, u16::to_le_bytes);
    Ok(())
}

/// codes (N, E) and scales (N) to y (N, E).
pub fn dequantize(inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    let shape = inputs[0].axes::<2>("codes")?;
    inputs[0].expect(Kind::I8, &shape, "codes")?;
    inputs[1].expect(Kind::F16, &shape[..1], "scale")?;
    let (mut codes, mut y) = (Vec::new(), zeros(shape[0] * shape[1])?);
    reserve(&mut codes, shape[1])?;
    let rows = inputs[0].bytes.chunks_exact(shape[1]).zip(inputs[1].bytes.chunks_exact(2));
    for (n, ((row, scale), y)) in rows.zip(y.chunks_exact_mut(shape[1])).enumerate() {
        codes.clear();
        codes.extend(row.iter().map(|&byte| byte as i8));
        let word = u16::from_le_bytes([scale[0], scale[1]]);
        q8_kv::dequantize(&codes, word, &format!("codes vector {}", n), y)?;
    }
    answer(&mut outputs[0], &shape, y)
}
