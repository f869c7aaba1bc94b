//! Chat templates: compiled templates loaded, conversations rendered, text and owners read.

use super::errors::{fail, status};
use super::{null, slice};
use crate::chat::{render, Rendered, Template};
use crate::error::Result;

/// A compiled template and what it rendered last.
pub struct Chat {
    template: Template,
    rendered: Rendered,
}

/// What a handle points at.
pub type Handle = *mut Chat;

/// Read a compiled template; null and an error where it is refused. The bytes are not kept.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_chat_load(pointer: *const u8, len: usize) -> Handle {
    match slice(pointer, len, "bytes").and_then(Template::read) {
        Ok(template) => {
            let rendered = Rendered { text: String::new(), runs: Vec::new() };
            Box::into_raw(Box::new(Chat { template, rendered }))
        }
        Err(error) => {
            fail(error);
            std::ptr::null_mut()
        }
    }
}

/// Forget a template.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_chat_free(handle: Handle) {
    if !handle.is_null() {
        drop(Box::from_raw(handle));
    }
}

/// Render a conversation, given as JSON. What was rendered before is gone, also after an error.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_chat_render(handle: Handle, pointer: *const u8, len: usize) -> i32 {
    status(rendered(handle, pointer, len).map(|()| 0))
}

unsafe fn rendered(handle: Handle, pointer: *const u8, len: usize) -> Result<()> {
    let chat = handle.as_mut().ok_or_else(|| null("handle"))?;
    chat.rendered = Rendered { text: String::new(), runs: Vec::new() };
    chat.rendered = render(&chat.template, slice(pointer, len, "conversation")?)?;
    Ok(())
}

/// Address of the rendered text, in UTF-8.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_chat_text_ptr(handle: Handle) -> *const u8 {
    handle.as_ref().map_or(std::ptr::null(), |chat| chat.rendered.text.as_ptr())
}

/// Length of the rendered text, in bytes.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_chat_text_len(handle: Handle) -> usize {
    handle.as_ref().map_or(0, |chat| chat.rendered.text.len())
}

/// Address of the runs: three u32 each, start, end and owner.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_chat_runs_ptr(handle: Handle) -> *const u32 {
    handle.as_ref().map_or(std::ptr::null(), |chat| chat.rendered.runs.as_ptr())
}

/// Number of runs.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_chat_run_count(handle: Handle) -> usize {
    handle.as_ref().map_or(0, |chat| chat.rendered.runs.len() / 3)
}
