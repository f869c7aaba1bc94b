//! Operators of the exact profiles, one a file; `order` is where the profiles differ.

pub mod activation;
pub mod ascending;
pub mod attention;
pub mod bias;
pub mod elementary;
pub mod gelu;
pub mod lanes;
pub mod layer_norm;
pub mod matmul;
pub mod nan;
pub mod order;
pub mod residual;
pub mod rms_norm;
pub mod rope;
pub mod swiglu;
#[allow(unsafe_code)]
pub mod widths;
