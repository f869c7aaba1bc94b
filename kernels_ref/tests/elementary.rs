//! The elementary functions over a sweep of all f32 magnitudes give the hashes of the Python twin.
//!
//! `tests/backends/test_crate.py` recomputes the same hashes with `trlm_lab/ops/elementary.py`.

use trlm_ref::ops::elementary::{exp, sin_cos};
use trlm_ref::ops::nan::canonicalise;
use trlm_ref::sha256::digest;

/// Distance of two swept bit patterns.
const STEP: usize = 4099;

const EXP_SHA256: &str = "8092cc4a8e0e78319d2c647bb4fbc6070ab988d6a1daddeaafd72523668225d0";
const SIN_SHA256: &str = "c7e3f5766b5dcc2056b46344f2b30919bc4867dc18482fc92cb301149735394c";
const COS_SHA256: &str = "58873402f5f5765a5daa8672328f451fabf9b1ce11226a144fd23536c253ca23";

fn sweep(function: impl Fn(f32) -> f32) -> String {
    let inputs = (0..=u32::MAX).step_by(STEP).map(f32::from_bits);
    let mut values: Vec<f32> = inputs.map(function).collect();
    canonicalise(&mut values);
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    digest(&[&bytes]).iter().map(|byte| format!("{:02x}", byte)).collect()
}

#[test]
#[cfg(not(feature = "exp_ulp_off"))]
fn exp_is_the_twins() {
    assert_eq!(sweep(exp), EXP_SHA256);
}

#[test]
#[cfg(feature = "exp_ulp_off")]
fn the_wrong_build_is_wrong() {
    assert_ne!(sweep(exp), EXP_SHA256);
}

#[test]
fn sin_and_cos_are_the_twins() {
    assert_eq!(sweep(|x| sin_cos(x).0), SIN_SHA256);
    assert_eq!(sweep(|x| sin_cos(x).1), COS_SHA256);
}
