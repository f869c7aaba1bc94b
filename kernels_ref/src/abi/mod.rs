//! The C ABI; `docs/abi.md` describes each function. The only module with `unsafe`.
//!
//! Safety, for all functions: a handle comes from the load function of its kind and is not freed;
//! pointers cover the lengths given; a model or tokenizer is used by one thread at a time. Null is
//! checked.

use crate::bytes::reserve;
use crate::error::{ensure, Code, Error, Result};

pub mod cases;
pub mod chat;
pub mod checkpoints;
pub mod errors;
mod lanes;
pub mod memory;
pub mod models;
pub mod operators;
pub mod rows;
pub mod streams;
pub mod text;

fn null(place: &str) -> Error {
    Error::new(Code::NullPointer, place, "is null")
}

/// Bytes of the host, in place.
unsafe fn slice<'h, T>(pointer: *const T, len: usize, place: &str) -> Result<&'h [T]> {
    covers(pointer, len, place)?;
    Ok(std::slice::from_raw_parts(pointer, len))
}

/// Memory of the host to write to, in place.
unsafe fn slice_mut<'h, T>(pointer: *mut T, len: usize, place: &str) -> Result<&'h mut [T]> {
    covers(pointer, len, place)?;
    Ok(std::slice::from_raw_parts_mut(pointer, len))
}

/// Refuse a pointer that no slice may have.
fn covers<T>(pointer: *const T, len: usize, place: &str) -> Result<()> {
    let fits = len <= isize::MAX as usize / std::mem::size_of::<T>().max(1);
    if pointer.is_null() || !fits {
        return Err(null(place));
    }
    ensure(pointer as usize % std::mem::align_of::<T>() == 0, || {
        Error::new(Code::Argument, place, "is not aligned to its elements")
    })
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
