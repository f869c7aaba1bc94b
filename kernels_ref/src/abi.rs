//! The C ABI; `docs/abi.md` describes each function. The only file with `unsafe`.
//!
//! Safety, for all functions: a handle comes from `trlm_model_load` and is not freed; pointers
//! cover the lengths given; a model is used by one thread at a time. Null is checked.

use std::alloc::{alloc, dealloc, Layout};
use std::cell::RefCell;

use crate::bytes::reserve;
use crate::checkpoint::Checkpoint;
use crate::error::{ensure, Code, Error, Result};
use crate::model::Model;
use crate::operators::{
    self,
    array::{elements, Array, Kind, MAX_RANK},
};
use crate::runtime::{Case, Runtime};
use crate::sha256;
use crate::slm::verify;

/// What a handle points at. The bytes stay the host's, hence no lifetime that Rust could check.
pub type Handle = *mut Runtime<'static>;

/// Alignment of what `trlm_alloc` returns.
const ALIGNMENT: usize = 64;

thread_local! {
    static LAST: RefCell<Option<Error>> = const { RefCell::new(None) };
}

fn fail(error: Error) -> i32 {
    let code = -(error.code.number() as i32);
    LAST.with(|last| *last.borrow_mut() = Some(error));
    code
}

fn status(result: Result<i32>) -> i32 {
    result.unwrap_or_else(fail)
}

fn null(place: &str) -> Error {
    Error::new(Code::NullPointer, place, "is null")
}

unsafe fn runtime<'h>(handle: Handle) -> Result<&'h mut Runtime<'static>> {
    handle.as_mut().ok_or_else(|| null("handle"))
}

unsafe fn checkpoint<'h>(handle: Handle, i: u32) -> Option<(&'h Runtime<'static>, &'h Checkpoint)> {
    let runtime = handle.as_ref()?;
    runtime.exposed().get(i as usize).map(|checkpoint| (runtime, checkpoint))
}

/// Elements at any alignment, copied; None where the pointer is null.
unsafe fn copied<T: Copy>(pointer: *const T, len: usize) -> Result<Option<Vec<T>>> {
    if pointer.is_null() {
        return Ok(None);
    }
    let mut values = Vec::new();
    reserve(&mut values, len)?;
    values.extend((0..len).map(|i| pointer.add(i).read_unaligned()));
    Ok(Some(values))
}

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

/// Open a `.slm` in place; null and an error where it is refused.
///
/// # Safety
/// The `len` bytes stay unchanged until `trlm_model_free`.
#[no_mangle]
pub unsafe extern "C" fn trlm_model_load(pointer: *const u8, len: usize) -> Handle {
    let opened = if pointer.is_null() || len > isize::MAX as usize {
        Err(null("bytes"))
    } else {
        Model::open(std::slice::from_raw_parts(pointer, len))
    };
    match opened {
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
    let checked = runtime(handle).and_then(|r| verify::verify(&r.model().container, what));
    status(checked.map(|()| 0))
}

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

/// Words of an operand's descriptor: element type, address, rank, three axes.
const DESCRIPTOR: usize = 3 + MAX_RANK;

/// Run one operator on arrays of the host.
///
/// # Safety
/// Each address covers the elements that its descriptor names; see the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_op(
    name: *const u8,
    name_len: usize,
    inputs: *const usize,
    input_count: usize,
    outputs: *const usize,
    output_count: usize,
) -> i32 {
    status(operator((name, name_len), (inputs, input_count), (outputs, output_count)).map(|()| 0))
}

unsafe fn operator(
    name: (*const u8, usize),
    inputs: (*const usize, usize),
    outputs: (*const usize, usize),
) -> Result<()> {
    let name = copied(name.0, name.1)?.ok_or_else(|| null("name"))?;
    let name = String::from_utf8_lossy(&name);
    let inputs = operands(inputs, "inputs")?;
    let inputs: Vec<Array> = inputs.into_iter().map(|(array, _)| array).collect();
    let (mut answers, addresses): (Vec<Array>, Vec<*mut u8>) =
        operands(outputs, "outputs")?.into_iter().unzip();
    operators::run(&name, &inputs, &mut answers)?;
    for (answer, address) in answers.iter().zip(addresses) {
        std::ptr::copy_nonoverlapping(answer.bytes.as_ptr(), address, answer.bytes.len());
    }
    Ok(())
}

/// The operands of a table of descriptors, copied, and where each lies.
unsafe fn operands(table: (*const usize, usize), what: &str) -> Result<Vec<(Array, *mut u8)>> {
    ensure(table.1 <= 16, || {
        Error::new(Code::Argument, what, format!("{} operands, at most 16", table.1))
    })?;
    let words = copied(table.0, table.1 * DESCRIPTOR)?.ok_or_else(|| null(what))?;
    let mut found = Vec::new();
    for (i, row) in words.chunks_exact(DESCRIPTOR).enumerate() {
        let place = format!("{}[{}]", what, i);
        let kind = Kind::from_number(row[0], &place)?;
        let shape = row[3..].get(..row[2]).ok_or_else(|| {
            Error::new(Code::Argument, &place, format!("rank {}, at most {}", row[2], MAX_RANK))
        })?;
        let length = elements(kind, shape, &place)? * kind.size();
        let address = row[1] as *mut u8;
        let bytes = copied(address as *const u8, length)?.ok_or_else(|| null(&place))?;
        found.push((Array { kind, shape: shape.to_vec(), bytes }, address));
    }
    Ok(found)
}

/// Code of this thread's last error.
#[no_mangle]
pub extern "C" fn trlm_last_error_code() -> u32 {
    LAST.with(|last| last.borrow().as_ref().map_or(0, |error| error.code.number()))
}

fn with_text<T>(part: u32, read: impl Fn(&str) -> T) -> Option<T> {
    LAST.with(|last| {
        let last = last.borrow();
        let error = last.as_ref()?;
        match part {
            0 => Some(read(error.code.name())),
            1 => Some(read(&error.place)),
            2 => Some(read(&error.detail)),
            _ => None,
        }
    })
}

/// Address of a text of this thread's last error: 0 name, 1 place, 2 detail.
#[no_mangle]
pub extern "C" fn trlm_last_error_ptr(part: u32) -> *const u8 {
    with_text(part, str::as_ptr).unwrap_or(std::ptr::null())
}

/// Length of that text.
#[no_mangle]
pub extern "C" fn trlm_last_error_len(part: u32) -> usize {
    with_text(part, str::len).unwrap_or(0)
}
