//! Operators of the profile `scalar-f32-v1`, one a file.

pub mod activation;
pub mod attention;
pub mod bias;
pub mod elementary;
pub mod gelu;
pub mod layer_norm;
pub mod matmul;
pub mod nan;
pub mod residual;
pub mod rms_norm;
pub mod rope;
pub mod swiglu;
