//! Cases: begin, and step layer by layer.

use super::errors::status;
use super::models::{runtime, Handle};
use super::{copied, null};
use crate::error::{ensure, Code, Error, Result};
use crate::runtime::{Case, Runtime};

/// Start a case.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_case_begin(
    handle: Handle,
    tokens: *const u32,
    n: usize,
    positions: *const u32,
    mask: *const u8,
    flags: u32,
) -> i32 {
    status(begin(handle, tokens, n, positions, mask, flags).map(|()| 0))
}

unsafe fn begin(
    handle: Handle,
    tokens: *const u32,
    n: usize,
    positions: *const u32,
    mask: *const u8,
    flags: u32,
) -> Result<()> {
    let runtime = runtime(handle)?;
    let limit = runtime.model().config.max_positions;
    ensure(n <= limit, || {
        Error::new(Code::Context, "tokens", format!("{} tokens, at most {}", n, limit))
    })?;
    let tokens = copied(tokens, n)?.ok_or_else(|| null("tokens"))?;
    let positions = copied(positions, n)?;
    let mask = copied(mask, n)?;
    let (positions, mask) = (positions.as_deref(), mask.as_deref());
    runtime.begin(&Case { tokens: &tokens, positions, mask, flags })
}

/// Make the next step.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_case_step(handle: Handle) -> i32 {
    status(runtime(handle).and_then(Runtime::step).map(i32::from))
}

/// Number of steps of a case.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_case_steps(handle: Handle) -> u32 {
    handle.as_ref().map_or(0, |runtime| runtime.steps() as u32)
}
