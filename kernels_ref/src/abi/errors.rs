//! The last error of each thread.

use std::cell::RefCell;

use crate::error::{Error, Result};

thread_local! {
    static LAST: RefCell<Option<Error>> = const { RefCell::new(None) };
}

pub(super) fn fail(error: Error) -> i32 {
    let code = -(error.code.number() as i32);
    LAST.with(|last| *last.borrow_mut() = Some(error));
    code
}

pub(super) fn status(result: Result<i32>) -> i32 {
    result.unwrap_or_else(fail)
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
