//! The numbers of the format's tables that this reader uses.

/// dtype: IEEE binary32.
pub const DTYPE_F32: u16 = 1;
/// dtype: IEEE binary16.
pub const DTYPE_F16: u16 = 2;
/// dtype: bfloat16.
pub const DTYPE_BF16: u16 = 3;
/// dtype: i8 codes, one scale over 128 columns; also those of a residual.
pub const DTYPE_Q8_R128: u16 = 4;
/// The largest dtype that the format knows.
pub const DTYPE_LAST: u16 = 7;

/// layout: a payload of its own.
pub const LAYOUT_DENSE: u16 = 0;
/// layout: another tensor's payload.
pub const LAYOUT_ALIAS: u16 = 1;
/// layout: what is added to another tensor.
pub const LAYOUT_RESIDUAL: u16 = 2;
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
pub const ROLES: [&str; 28] = [
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
    "q_norm",
    "k_norm",
    "post_attn_norm",
    "post_mlp_norm",
    "position_embedding",
    "q_proj_bias",
    "k_proj_bias",
    "v_proj_bias",
    "o_proj_bias",
    "gate_proj_bias",
    "up_proj_bias",
    "down_proj_bias",
    "attn_norm_bias",
    "mlp_norm_bias",
    "final_norm_bias",
];
/// The role of a bias, less that of its weight; the weights are roles 2 to 11.
pub const BIAS: u16 = 16;
/// role: the token embedding.
pub const ROLE_EMBEDDING: u16 = 1;
/// role: the projection to queries.
pub const ROLE_Q_PROJ: u16 = 2;
/// role: the projection to keys.
pub const ROLE_K_PROJ: u16 = 3;
/// role: the projection to values.
pub const ROLE_V_PROJ: u16 = 4;
/// role: the projection behind attention.
pub const ROLE_O_PROJ: u16 = 5;
/// role: the gate of the MLP.
pub const ROLE_GATE_PROJ: u16 = 6;
/// role: what the gate multiplies, or the first projection of a plain MLP.
pub const ROLE_UP_PROJ: u16 = 7;
/// role: the last projection of the MLP.
pub const ROLE_DOWN_PROJ: u16 = 8;
/// role: the norm before attention.
pub const ROLE_ATTN_NORM: u16 = 9;
/// role: the norm before the MLP.
pub const ROLE_MLP_NORM: u16 = 10;
/// role: the norm behind the last layer.
pub const ROLE_FINAL_NORM: u16 = 11;
/// role: the output projection.
pub const ROLE_LM_HEAD: u16 = 12;
/// role: the norm of queries.
pub const ROLE_Q_NORM: u16 = 13;
/// role: the norm of keys.
pub const ROLE_K_NORM: u16 = 14;
/// role: the norm behind attention.
pub const ROLE_POST_ATTN_NORM: u16 = 15;
/// role: the norm behind the MLP.
pub const ROLE_POST_MLP_NORM: u16 = 16;
/// role: learned positions.
pub const ROLE_POSITION_EMBEDDING: u16 = 17;
