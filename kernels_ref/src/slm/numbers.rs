//! The numbers of the format's tables that this reader uses.

/// dtype: IEEE binary32.
pub const DTYPE_F32: u16 = 1;
/// dtype: i8 codes, one fp16 scale over 128 columns.
pub const DTYPE_Q8_R128: u16 = 4;
/// The largest dtype that the format knows.
pub const DTYPE_LAST: u16 = 7;

/// layout: a payload of its own.
pub const LAYOUT_DENSE: u16 = 0;
/// layout: another tensor's payload.
pub const LAYOUT_ALIAS: u16 = 1;
/// The largest layout that the format knows.
pub const LAYOUT_LAST: u16 = 3;

/// scale encoding: none.
pub const SCALE_NONE: u16 = 0;
/// scale encoding: IEEE binary16.
pub const SCALE_FP16: u16 = 1;
/// The largest scale encoding that the format knows.
pub const SCALE_LAST: u16 = 3;

/// tensor flag: an output projection that aliases the embedding.
pub const FLAG_TIED: u32 = 1;
/// tensor flag: the tensor may be absent.
pub const FLAG_OPTIONAL: u32 = 2;
/// tensor flag: reserved, refused in 2.0.
pub const FLAG_COMPRESSED: u32 = 4;

/// Roles in the order of their numbers.
pub const ROLES: [&str; 13] = [
    "other",
    "embedding",
    "q_proj",
    "k_proj",
    "v_proj",
    "o_proj",
    "gate_proj",
    "up_proj",
    "down_proj",
    "attn_norm",
    "mlp_norm",
    "final_norm",
    "lm_head",
];
/// role: the token embedding.
pub const ROLE_EMBEDDING: u16 = 1;
/// role: the output projection.
pub const ROLE_LM_HEAD: u16 = 12;
