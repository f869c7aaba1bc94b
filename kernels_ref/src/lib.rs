//! Reference runtime for `.slm` artifacts: decoders of any effective configuration.
//!
//! It reads a container in place, runs the evaluation profiles `scalar-f32-v1` and `lanes16-f32-v1`
//! and exposes every checkpoint of the forward pass, layer by layer. One source builds the native library and the
//! WebAssembly module; both give the same bits as the NumPy reference. No dependency, no panic on
//! hostile bytes, and `unsafe` in the ABI module and in `ops::widths` alone. `docs/abi.md` describes the exports.

#![deny(missing_docs)]
#![deny(unsafe_code)]

#[allow(unsafe_code)]
pub mod abi;
mod bytes;
pub mod cache;
pub mod cbor;
pub mod chat;
pub mod checkpoint;
pub mod config;
pub mod error;
pub mod model;
pub mod operators;
pub mod ops;
pub mod quant;
pub mod runtime;
pub mod sha256;
pub mod slm;
pub mod slm1;
pub mod text;
pub mod topk;
mod workspace;
