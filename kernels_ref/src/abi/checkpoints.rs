//! Checkpoints of the last step, read in place.

use super::errors::status;
use super::models::{runtime, Handle};
use super::null;
use crate::checkpoint::Checkpoint;
use crate::error::{ensure, Code, Error, Result};
use crate::runtime::Runtime;

unsafe fn checkpoint<'h>(handle: Handle, i: u32) -> Option<(&'h Runtime<'static>, &'h Checkpoint)> {
    let runtime = handle.as_ref()?;
    runtime.exposed().get(i as usize).map(|checkpoint| (runtime, checkpoint))
}

/// Number of exposed checkpoints.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_checkpoint_count(handle: Handle) -> u32 {
    handle.as_ref().map_or(0, |runtime| runtime.exposed().len() as u32)
}

/// Address of a checkpoint's name, or null.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_checkpoint_name_ptr(handle: Handle, i: u32) -> *const u8 {
    checkpoint(handle, i).map_or(std::ptr::null(), |(_, c)| c.name.as_ptr())
}

/// Length of a checkpoint's name.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_checkpoint_name_len(handle: Handle, i: u32) -> usize {
    checkpoint(handle, i).map_or(0, |(_, c)| c.name.len())
}

/// Address of a checkpoint's values, or null.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_checkpoint_data(handle: Handle, i: u32) -> *const f32 {
    checkpoint(handle, i).map_or(std::ptr::null(), |(r, c)| r.values(c).as_ptr())
}

/// Number of a checkpoint's values.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_checkpoint_len(handle: Handle, i: u32) -> usize {
    checkpoint(handle, i).map_or(0, |(r, c)| r.values(c).len())
}

/// Number of a checkpoint's axes.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_checkpoint_rank(handle: Handle, i: u32) -> u32 {
    checkpoint(handle, i).map_or(0, |(_, c)| c.shape.len() as u32)
}

/// Length of one axis.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_checkpoint_dim(handle: Handle, i: u32, axis: u32) -> usize {
    checkpoint(handle, i).and_then(|(_, c)| c.shape.get(axis as usize)).map_or(0, |&dim| dim)
}

/// The largest logits of each row.
///
/// # Safety
/// `ids` and `values` have room for rows * k entries; see the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_topk(
    handle: Handle,
    k: usize,
    ids: *mut i64,
    values: *mut f32,
) -> i32 {
    status(topk(handle, k, ids, values).map(|()| 0))
}

unsafe fn topk(handle: Handle, k: usize, ids: *mut i64, values: *mut f32) -> Result<()> {
    let runtime = runtime(handle)?;
    ensure(!ids.is_null() && !values.is_null(), || null("ids or values"))?;
    let vocab = runtime.model().config.vocab;
    ensure((1..=vocab).contains(&k), || {
        Error::new(Code::Argument, "k", format!("{}, expected 1 to {}", k, vocab))
    })?;
    let aligned = ids as usize % 8 == 0 && values as usize % 4 == 0;
    ensure(aligned, || Error::new(Code::Argument, "ids or values", "is not aligned"))?;
    let len = runtime.logit_rows() * k;
    let ids = std::slice::from_raw_parts_mut(ids, len);
    runtime.top_k(k, ids, std::slice::from_raw_parts_mut(values, len))
}
