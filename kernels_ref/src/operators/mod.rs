//! Single operators by name, over arrays of the host: what `trlm_op` serves.
//!
//! They are the functions of the forward pass, or use the same elementary functions in the order
//! that the profile `scalar-f32-v1` pins. `docs/abi.md` lists operands and shapes.

pub mod array;
mod attention;
mod elementwise;
mod grouped;
mod kv;
mod rows;

use crate::error::{Code, Error, Result};
use crate::ops::nan::canonicalise;
use array::{Array, Kind};

/// Computes an operator; inputs and outputs are as many as the table says.
type Serve = fn(&[Array], &mut [Array]) -> Result<()>;

/// Name, number of inputs, number of outputs, function.
const TABLE: &[(&str, usize, usize, Serve)] = &[
    ("rms_norm", 3, 1, rows::rms_norm),
    ("layer_norm", 4, 1, rows::layer_norm),
    ("softmax", 3, 1, rows::softmax),
    ("matmul", 2, 1, rows::matmul),
    ("add_bias", 2, 1, rows::add_bias),
    ("embedding_scale", 2, 1, elementwise::embedding_scale),
    ("learned_positions", 3, 1, rows::learned_positions),
    ("attention", 7, 1, attention::attention),
    ("rope", 4, 1, rows::rope),
    ("rope_interleaved", 4, 1, rows::rope_interleaved),
    ("softcap", 2, 1, elementwise::softcap),
    ("silu", 1, 1, elementwise::silu),
    ("gelu_tanh", 1, 1, elementwise::gelu_tanh),
    ("gelu_erf", 1, 1, elementwise::gelu_erf),
    ("swiglu", 2, 1, elementwise::swiglu),
    ("geglu_tanh", 2, 1, elementwise::geglu_tanh),
    ("geglu_erf", 2, 1, elementwise::geglu_erf),
    ("residual", 2, 1, elementwise::residual),
    ("exp", 1, 1, elementwise::exp),
    ("sin", 1, 1, elementwise::sin),
    ("cos", 1, 1, elementwise::cos),
    ("tanh", 1, 1, elementwise::tanh),
    ("erf", 1, 1, elementwise::erf),
    ("quantize_q8_r128", 1, 2, grouped::quantize_q8),
    ("dequantize_q8_r128", 2, 1, grouped::dequantize_q8),
    ("quantize_q6_g64", 1, 2, grouped::quantize_q6),
    ("dequantize_q6_g64", 2, 1, grouped::dequantize_q6),
    ("quantize_q5_g64", 1, 2, grouped::quantize_q5),
    ("dequantize_q5_g64", 2, 1, grouped::dequantize_q5),
    ("quantize_q4_g64", 1, 2, grouped::quantize_q4),
    ("dequantize_q4_g64", 2, 1, grouped::dequantize_q4),
    ("quantize_q8_kv", 1, 2, kv::quantize),
    ("dequantize_q8_kv", 2, 1, kv::dequantize),
    ("pack_rows", 2, 2, grouped::pack_rows),
    ("unpack_rows", 3, 1, grouped::unpack_rows),
    ("matmul_rows", 4, 1, grouped::matmul_rows),
];

/// Run one operator.
pub fn run(name: &str, inputs: &[Array], outputs: &mut [Array]) -> Result<()> {
    let (_, takes, gives, serve) =
        TABLE.iter().find(|row| row.0 == name).ok_or_else(|| unknown(name))?;
    if (inputs.len(), outputs.len()) != (*takes, *gives) {
        let got = format!("{} inputs and {} outputs", inputs.len(), outputs.len());
        let detail = format!("{}, needed are {} and {}", got, takes, gives);
        return Err(Error::new(Code::Argument, name, detail));
    }
    serve(inputs, outputs)
}

fn unknown(name: &str) -> Error {
    let known: Vec<&str> = TABLE.iter().map(|row| row.0).collect();
    let detail = format!("is none of: {}", known.join(", "));
    Error::new(Code::UnknownOperator, name, detail)
}

/// Write an f32 answer, every NaN in one spelling.
fn answer(y: &mut Array, shape: &[usize], mut values: Vec<f32>) -> Result<()> {
    y.expect(Kind::F32, shape, "y")?;
    canonicalise(&mut values);
    y.store(&values, f32::to_le_bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(shape: &[usize], values: &[f32]) -> Array {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Array { kind: Kind::F32, shape: shape.to_vec(), bytes }
    }

    #[test]
    fn an_operator_is_found_by_name_and_refused_by_name() {
        let x = floats(&[2], &[3.0, 4.0]);
        let mut y = [floats(&[2], &[0.0, 0.0])];
        run("residual", &[x.clone(), x.clone()], &mut y).unwrap();
        assert_eq!(y[0].f32s(&[2], "y").unwrap(), [6.0, 8.0]);
        let error = run("norm", &[], &mut []).unwrap_err();
        assert_eq!((error.code, error.place.as_str()), (Code::UnknownOperator, "norm"));
        assert_eq!(run("residual", &[x], &mut y).unwrap_err().code, Code::Argument);
    }

    #[test]
    fn an_answer_of_another_shape_is_refused() {
        let x = floats(&[2], &[3.0, 4.0]);
        let mut y = [floats(&[1], &[0.0])];
        assert_eq!(run("silu", &[x], &mut y).unwrap_err().code, Code::Argument);
    }
}
