//! What ends a rendering. An error without a place gets the line of the node where it arose.

use crate::error::{Code, Error, Result};

/// An operation that the source's own renderer refuses too.
pub fn refused<T>(detail: impl Into<String>) -> Result<T> {
    Err(Error::new(Code::TemplateEvaluation, "", detail))
}

/// A type that an operation does not take.
pub fn ill_typed<T>(what: &str, kind: &str) -> Result<T> {
    refused(format!("TypeError: {} of {}", what, kind))
}

/// What is outside the subset.
pub fn unsupported<T>(construct: impl Into<String>) -> Result<T> {
    Err(Error::new(Code::TemplateUnsupported, "", construct))
}

/// A bound that is reached.
pub fn beyond<T>(
    what: &str,
    got: impl std::fmt::Display,
    limit: impl std::fmt::Display,
) -> Result<T> {
    let detail = format!("{}: {} is above the limit {}", what, got, limit);
    Err(Error::new(Code::TemplateLimit, "", detail))
}

/// An allocation that failed.
pub fn short_of_memory(elements: usize) -> Error {
    Error::new(Code::OutOfMemory, "rendering", format!("{} elements", elements))
}
