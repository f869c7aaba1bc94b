//! Bounds of reading and rendering; they are part of the compiled template's version.

pub const NODES: usize = 1 << 16;
/// Longest path from the root of a compiled template to a leaf.
pub const NODE_DEPTH: usize = 96;
/// Nodes under evaluation at one time, macros included; keeps the stack bounded.
pub const LIVE_DEPTH: usize = 192;
pub const MACRO_DEPTH: usize = 16;
/// One step a node evaluated, one an item made or walked, one for each started 256 characters.
pub const STEPS: u64 = 1_000_000;
pub const CHARACTERS_A_STEP: u64 = 256;
pub const OUTPUT_BYTES: u64 = 8 << 20;
pub const TEXT_CHARACTERS: u64 = 8 << 20;
pub const RANGE: i128 = 100_000;
/// Results of integer arithmetic.
pub const INTEGER: i128 = i64::MAX as i128;
/// Integers of the caller: from -2^64 to 2^64 - 1.
pub const DATA_INTEGER: i128 = u64::MAX as i128;
pub const DATA_DEPTH: usize = 64;
/// Lists within lists that a name may hold.
pub const VALUE_DEPTH: usize = 80;
/// A longer text is no number.
pub const DIGITS: usize = 4300;
