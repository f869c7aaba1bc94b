//! Version, memory and hashes.

use crate::ops::widths::Width;
use std::alloc::{alloc, dealloc, Layout};

use super::errors::fail;
use super::null;
use crate::sha256;

/// Alignment of what `trlm_alloc` returns.
const ALIGNMENT: usize = 64;

/// Version of this ABI.
#[no_mangle]
pub extern "C" fn trlm_abi_version() -> u32 {
    1
}

/// Bit 0: the deliberately wrong build.
#[no_mangle]
pub extern "C" fn trlm_build_flags() -> u32 {
    u32::from(cfg!(feature = "exp_ulp_off"))
}

/// Lanes of a register that the products of `lanes16-f32-v1` use here: 4, 8 or 16.
#[no_mangle]
pub extern "C" fn trlm_register_lanes() -> u32 {
    Width::best().lanes()
}

/// `len` bytes aligned to 64, or null.
#[no_mangle]
pub extern "C" fn trlm_alloc(len: usize) -> *mut u8 {
    match Layout::from_size_align(len.max(1), ALIGNMENT) {
        // The size is not zero.
        Ok(layout) => unsafe { alloc(layout) },
        Err(_) => std::ptr::null_mut(),
    }
}

/// Give back what `trlm_alloc(len)` returned.
///
/// # Safety
/// `pointer` comes from `trlm_alloc(len)` with the same `len`, or is null.
#[no_mangle]
pub unsafe extern "C" fn trlm_free(pointer: *mut u8, len: usize) {
    if let (false, Ok(layout)) = (pointer.is_null(), Layout::from_size_align(len.max(1), ALIGNMENT))
    {
        dealloc(pointer, layout);
    }
}

/// SHA-256 of `len` bytes.
///
/// # Safety
/// `out` has room for 32 bytes; see the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_sha256(pointer: *const u8, len: usize, out: *mut u8) -> i32 {
    if pointer.is_null() || out.is_null() || len > isize::MAX as usize {
        return fail(null("bytes or out"));
    }
    let digest = sha256::digest(&[std::slice::from_raw_parts(pointer, len)]);
    std::ptr::copy_nonoverlapping(digest.as_ptr(), out, digest.len());
    0
}
