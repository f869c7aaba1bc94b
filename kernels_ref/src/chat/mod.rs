//! Chat templates: the compiled form read from bytes, and conversations rendered from it alone.
//!
//! `docs/formats/template-ir.md` has the byte form. The renderer does what the source's language
//! (Python) does on texts, numbers, lists and objects, character by character, within fixed bounds;
//! every character of the output has an owner.

mod arguments;
mod arithmetic;
mod budget;
mod check_ir;
mod compare;
mod decimal;
mod error;
mod evaluate;
mod execute;
mod filters;
mod functions;
mod input;
mod ir;
mod ir_row;
mod is_tests;
mod json_read;
mod json_text;
mod key;
mod lazy;
mod limits;
mod list_filters;
mod lookup;
mod macros;
mod methods;
mod number_filters;
mod number_text;
mod order_filters;
mod printing;
mod read_ir;
mod render;
mod state;
mod text;
mod text_format;
mod text_methods;
mod text_operations;
mod unicode;
mod value;

pub use ir::Template;
pub use render::{render, Rendered};
