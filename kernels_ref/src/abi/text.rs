//! Tokenizers: texts to ids and offsets, ids to bytes and text.

use super::errors::{fail, status};
use super::{copied, null, slice};
use crate::error::{ensure, Code, Error, Result};
use crate::text::decode::{Decoded, Mode};
use crate::text::slm1;
use crate::text::state::{Request, State};
use crate::text::trace::Trace;
use crate::text::Tokenizer;
use std::rc::Rc;

/// A tokenizer with what it last made. The bytes stay the host's; streams share the tokenizer.
pub struct Text {
    pub(super) tokenizer: Rc<Tokenizer<'static>>,
    block: &'static [u8],
    state: State,
    decoded: Decoded,
    trace: Trace,
}

/// What a handle points at.
pub type Handle = *mut Text;

/// What post-processors put around is put around.
const ADD_SPECIAL_TOKENS: u32 = 1;

pub(super) unsafe fn text<'h>(handle: Handle) -> Result<&'h mut Text> {
    handle.as_mut().ok_or_else(|| null("handle"))
}

/// Open a TOK2 block in place, or a BTOK or BPE1; null and an error where it is refused.
///
/// # Safety
/// The `len` bytes stay unchanged until `trlm_text_free`.
#[no_mangle]
pub unsafe extern "C" fn trlm_text_load(pointer: *const u8, len: usize) -> Handle {
    match slice(pointer, len, "bytes").and_then(|bytes| open(bytes)) {
        Ok(text) => Box::into_raw(Box::new(text)),
        Err(error) => {
            fail(error);
            std::ptr::null_mut()
        }
    }
}

unsafe fn open(bytes: &'static [u8]) -> Result<Text> {
    let made = slm1::compiled(bytes)?;
    let block = match &made {
        // The bytes of a vector stay where they are when it moves.
        Some(made) => slice(made.as_ptr(), made.len(), "block")?,
        None => bytes,
    };
    let mut tokenizer = Tokenizer::open(block)?;
    tokenizer.made = made;
    let (state, decoded, trace) = Default::default();
    Ok(Text { tokenizer: Rc::new(tokenizer), block, state, decoded, trace })
}

/// Address of the TOK2 block of a tokenizer, or null.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_text_block_ptr(handle: Handle) -> *const u8 {
    handle.as_ref().map_or(std::ptr::null(), |text| text.block.as_ptr())
}

/// Length of that block.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_text_block_len(handle: Handle) -> usize {
    handle.as_ref().map_or(0, |text| text.block.len())
}

/// Forget a tokenizer.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_text_free(handle: Handle) {
    if !handle.is_null() {
        drop(Box::from_raw(handle));
    }
}

/// Tokens of a text: how many, or a negative error.
///
/// # Safety
/// `content` covers two numbers for each of `stretches`, or is null; see the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_text_encode(
    handle: Handle,
    pointer: *const u8,
    len: usize,
    content: *const u32,
    stretches: usize,
    flags: u32,
) -> i32 {
    status(encode(handle, (pointer, len), (content, stretches), flags, false))
}

/// The same, and what the text is after each stage, which the next call with this function forgets.
///
/// # Safety
/// See `trlm_text_encode`.
#[no_mangle]
pub unsafe extern "C" fn trlm_text_trace(
    handle: Handle,
    pointer: *const u8,
    len: usize,
    content: *const u32,
    stretches: usize,
    flags: u32,
) -> i32 {
    status(encode(handle, (pointer, len), (content, stretches), flags, true))
}

unsafe fn encode(
    handle: Handle,
    given: (*const u8, usize),
    content: (*const u32, usize),
    flags: u32,
    traced: bool,
) -> Result<i32> {
    let Text { tokenizer, state, trace, .. } = text(handle)?;
    ensure(flags & !ADD_SPECIAL_TOKENS == 0, || {
        Error::new(Code::Argument, "flags", format!("{}, expected 0 or 1", flags))
    })?;
    let numbers = content.1.checked_mul(2).ok_or_else(|| null("content"))?;
    let places = copied(content.0, numbers)?.unwrap_or_default();
    let content: Vec<[u32; 2]> = places.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
    let request = Request { text: slice(given.0, given.1, "text")?, content: &content };
    let insert = flags & ADD_SPECIAL_TOKENS != 0;
    if traced {
        *trace = Trace::default();
        *trace = tokenizer.traced(&request, insert, state)?;
    } else {
        tokenizer.encode(&request, insert, state)?;
    }
    Ok(state.ids.len() as i32)
}

unsafe fn traced(handle: Handle, part: u32) -> Option<(*const u8, usize)> {
    fn array<T>(values: &[T]) -> (*const u8, usize) {
        (values.as_ptr().cast(), std::mem::size_of_val(values))
    }
    let trace = &handle.as_ref()?.trace;
    Some(match part {
        0 => array(&trace.stages),
        1 => array(&trace.pieces),
        2 => array(&trace.tokens),
        3 => array(&trace.texts),
        4 => array(&trace.normalized),
        _ => return None,
    })
}

/// Address of a part of what was traced last: 0 stages, 1 pieces, 2 tokens, 3 texts, 4 the
/// normalized text.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_text_trace_ptr(handle: Handle, part: u32) -> *const u8 {
    traced(handle, part).map_or(std::ptr::null(), |(pointer, _)| pointer)
}

/// Length of that part, in bytes.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_text_trace_len(handle: Handle, part: u32) -> usize {
    traced(handle, part).map_or(0, |(_, len)| len)
}

/// Address of the ids of the last text, or null.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_text_ids(handle: Handle) -> *const u32 {
    handle.as_ref().map_or(std::ptr::null(), |text| text.state.ids.as_ptr())
}

/// Address of the offsets of the last text, two for each id, or null.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_text_offsets(handle: Handle) -> *const u32 {
    handle.as_ref().map_or(std::ptr::null(), |text| text.state.offsets.as_ptr().cast())
}

/// Bytes and text of ids: 0, or a negative error.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_text_decode(
    handle: Handle,
    ids: *const u32,
    count: usize,
    mode: u32,
) -> i32 {
    status(decode(handle, ids, count, mode).map(|()| 0))
}

unsafe fn decode(handle: Handle, ids: *const u32, count: usize, mode: u32) -> Result<()> {
    let text = text(handle)?;
    let ids = copied(ids, count)?.ok_or_else(|| null("ids"))?;
    text.decoded = text.tokenizer.decode(&ids, mode_of(mode)?)?;
    Ok(())
}

/// A mode of decoding by its number.
pub(super) fn mode_of(number: u32) -> Result<Mode> {
    let modes = [Mode::Raw, Mode::Visible, Mode::Diagnostic];
    let unknown = || Error::new(Code::Argument, "mode", format!("{}, expected 0 to 2", number));
    modes.get(number as usize).copied().ok_or_else(unknown)
}

unsafe fn decoded<'h>(handle: Handle, part: u32) -> Option<&'h [u8]> {
    handle.as_ref()?.decoded.part(part)
}

/// Address of what was decoded last: part 0 the bytes, 1 the text.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_text_decoded_ptr(handle: Handle, part: u32) -> *const u8 {
    decoded(handle, part).map_or(std::ptr::null(), <[u8]>::as_ptr)
}

/// Length of that part.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_text_decoded_len(handle: Handle, part: u32) -> usize {
    decoded(handle, part).map_or(0, <[u8]>::len)
}
