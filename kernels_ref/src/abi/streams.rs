//! Decoding as ids come: a stream of a tokenizer, and what its last call gave.

use super::errors::{fail, status};
use super::text::{mode_of, text, Handle as TextHandle};
use super::{copied, null};
use crate::error::Result;
use crate::text::decode::Decoded;
use crate::text::stream::Streaming;
use std::rc::Rc;

/// A stream with what it last gave. It keeps its tokenizer, so that the order of freeing is free.
pub struct Stream {
    streaming: Streaming<'static>,
    given: Decoded,
}

/// What a handle points at.
pub type Handle = *mut Stream;

unsafe fn stream<'h>(handle: Handle) -> Result<&'h mut Stream> {
    handle.as_mut().ok_or_else(|| null("handle"))
}

/// A stream of a tokenizer, in a mode of decoding; null and an error where there is none.
///
/// # Safety
/// The tokenizer's bytes stay unchanged until `trlm_stream_free`, too; see the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_stream_open(handle: TextHandle, mode: u32) -> Handle {
    match opened(handle, mode) {
        Ok(streaming) => Box::into_raw(Box::new(Stream { streaming, given: Decoded::default() })),
        Err(error) => {
            fail(error);
            std::ptr::null_mut()
        }
    }
}

unsafe fn opened(handle: TextHandle, mode: u32) -> Result<Streaming<'static>> {
    let owner = Rc::clone(&text(handle)?.tokenizer);
    Ok(Streaming::new(owner, mode_of(mode)?))
}

/// Forget a stream.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_stream_free(handle: Handle) {
    if !handle.is_null() {
        drop(Box::from_raw(handle));
    }
}

/// What is certain once these ids are known: 0, or a negative error, after which nothing changed.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_stream_push(handle: Handle, ids: *const u32, count: usize) -> i32 {
    status(pushed(handle, ids, count).map(|()| 0))
}

unsafe fn pushed(handle: Handle, ids: *const u32, count: usize) -> Result<()> {
    let stream = stream(handle)?;
    let ids = copied(ids, count)?.ok_or_else(|| null("ids"))?;
    stream.given = stream.streaming.push(&ids)?;
    Ok(())
}

/// What is held back: 0, or a negative error.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_stream_held(handle: Handle) -> i32 {
    status(stream(handle).and_then(|stream| {
        stream.given = stream.streaming.held()?;
        Ok(0)
    }))
}

/// The rest, after which the stream is at its beginning again: 0, or a negative error.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_stream_flush(handle: Handle) -> i32 {
    status(stream(handle).and_then(|stream| {
        stream.given = stream.streaming.flush()?;
        Ok(0)
    }))
}

unsafe fn given<'h>(handle: Handle, part: u32) -> Option<&'h [u8]> {
    handle.as_ref()?.given.part(part)
}

/// Address of what the last call gave: part 0 the bytes, 1 the text.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_stream_given_ptr(handle: Handle, part: u32) -> *const u8 {
    given(handle, part).map_or(std::ptr::null(), <[u8]>::as_ptr)
}

/// Length of that part.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_stream_given_len(handle: Handle, part: u32) -> usize {
    given(handle, part).map_or(0, <[u8]>::len)
}
