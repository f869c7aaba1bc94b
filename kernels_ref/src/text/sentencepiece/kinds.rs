//! Kinds of pieces, by SentencePiece's own numbers.

/// Text becomes it.
pub const NORMAL: u8 = 1;
/// What stands for all that no piece stands for.
pub const UNKNOWN: u8 = 2;
/// It stands for no text.
pub const CONTROL: u8 = 3;
/// Text becomes it wherever it occurs.
pub const USER_DEFINED: u8 = 4;
/// It is made on the way, and comes apart again.
pub const UNUSED: u8 = 5;
/// A byte of what no piece stands for.
pub const BYTE: u8 = 6;
