//! Models: open, ask, verify, forget.

use super::errors::{fail, status};
use super::{null, slice};
use crate::error::{Code, Error, Result};
use crate::model::Model;
use crate::ops::order::Order;
use crate::runtime::Runtime;

/// What a handle points at. The bytes stay the host's, hence no lifetime that Rust could check.
pub type Handle = *mut Runtime<'static>;

pub(super) unsafe fn runtime<'h>(handle: Handle) -> Result<&'h mut Runtime<'static>> {
    handle.as_mut().ok_or_else(|| null("handle"))
}

/// Open a `.slm` in place; null and an error where it is refused.
///
/// # Safety
/// The `len` bytes stay unchanged until `trlm_model_free`.
#[no_mangle]
pub unsafe extern "C" fn trlm_model_load(pointer: *const u8, len: usize) -> Handle {
    match slice(pointer, len, "bytes").and_then(Model::open) {
        Ok(model) => Box::into_raw(Box::new(Runtime::new(model))),
        Err(error) => {
            fail(error);
            std::ptr::null_mut()
        }
    }
}

/// Forget a model.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_model_free(handle: Handle) {
    if !handle.is_null() {
        drop(Box::from_raw(handle));
    }
}

/// A number about the model.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_model_info(handle: Handle, key: u32) -> u32 {
    let runtime = match handle.as_ref() {
        Some(runtime) => runtime,
        None => return u32::MAX,
    };
    let (model, config) = (runtime.model(), &runtime.model().config);
    let facts = [
        config.vocab,
        config.hidden,
        config.layers,
        config.heads,
        config.kv_heads,
        config.head_dim,
        config.ffn,
        config.max_positions,
        usize::from(config.tied),
        runtime.cached(),
        usize::from(model.dtype),
    ];
    facts.get(key as usize).map_or(u32::MAX, |&fact| fact as u32)
}

/// Recompute hashes.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_model_verify(handle: Handle, what: u32) -> i32 {
    let checked = runtime(handle).and_then(|r| r.model().file.verify(what));
    status(checked.map(|()| 0))
}

/// Choose the order of additions: 0 ascending, 1 in sixteen lanes.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_model_order(handle: Handle, order: u32) -> i32 {
    let unknown = || Error::new(Code::Argument, "order", format!("{} is no order", order));
    let chosen = Order::of(order).ok_or_else(unknown);
    status(runtime(handle).and_then(|r| r.set_order(chosen?)).map(|()| 0))
}
