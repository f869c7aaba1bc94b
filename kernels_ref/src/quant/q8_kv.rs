//! q8 keys and values: i8 codes of a whole vector with one fp16 scale, by the rules of q8_r128.

use super::encode::{absmax, Quantizer};
use super::f16;
use super::scales::Encoding;
use crate::error::{ensure, Code, Error, Result};

/// The largest code.
const Q: f32 = 127.0;

/// Codes of a vector into `codes`, of the same length; its scale's word. `place` names the vector.
pub fn quantize(vector: &[f32], place: &str, codes: &mut [i8]) -> Result<u16> {
    let absmax =
        absmax(vector).ok_or_else(|| Error::new(Code::Argument, place, "is not finite"))?;
    let word = Encoding::Fp16.choose(absmax, Q).ok_or_else(|| {
        Error::new(Code::Scale, place, format!("the scale {} is above 65504", absmax / Q))
    })?;
    let quantizer = Quantizer::new(Encoding::Fp16, word, Q);
    for (code, &value) in codes.iter_mut().zip(vector) {
        *code = quantizer.code(value);
    }
    Ok(word)
}

/// f32(code) * f32(scale), each rounded once; refuses what `quantize` never gives.
pub fn dequantize(codes: &[i8], word: u16, place: &str, vector: &mut [f32]) -> Result<()> {
    ensure(!codes.contains(&-128), || Error::new(Code::QuantCode, place, "the code -128"))?;
    let used = codes.iter().any(|&code| code != 0);
    ensure(Encoding::Fp16.is_stored(word, Q) && !(word == 0 && used), || {
        Error::new(Code::Scale, place, format!("scale bits {:04x}", word))
    })?;
    let scale = f16::to_f32(word);
    for (value, &code) in vector.iter_mut().zip(codes) {
        *value = f32::from(code) * scale;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_there_and_back() {
        let vector = [127.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5];
        let mut codes = [0; 7];
        let word = quantize(&vector, "k", &mut codes).unwrap();
        assert_eq!((word, codes), (0x3c00, [127, 0, 2, 2, 0, -2, -2]));
        let mut back = [0.0; 7];
        dequantize(&codes, word, "k", &mut back).unwrap();
        assert_eq!(back, [127.0, 0.0, 2.0, 2.0, 0.0, -2.0, -2.0]);
        let refused = |codes, word| dequantize(codes, word, "k", &mut [0.0; 2]).map_err(|e| e.code);
        assert_eq!(refused(&[-128, 0], 0x3c00), Err(Code::QuantCode));
        assert_eq!(refused(&[1, 0], 0), Err(Code::Scale));
        assert_eq!(refused(&[0, 0], 0), Ok(()));
    }
}
