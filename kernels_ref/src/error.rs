//! Every error of the runtime: a stable code, the place and what is wrong there.

use std::fmt;

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

macro_rules! codes {
    ($($variant:ident = $number:literal, $name:literal, $doc:literal;)*) => {
        /// The broken rule. Numbers and names are part of the ABI.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code {
            $(#[doc = $doc] $variant = $number,)*
        }

        impl Code {
            /// Every code, ascending.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            /// The stable name, upper case.
            pub fn name(self) -> &'static str {
                match self { $(Code::$variant => $name,)* }
            }

            /// The stable number.
            pub fn number(self) -> u32 {
                self as u32
            }
        }
    };
}

codes! {
    Truncated = 101, "TRUNCATED", "fewer bytes than a header has, or another length than the header says";
    Magic = 102, "MAGIC", "the bytes are no SLM1 or SLM2";
    Version = 103, "VERSION", "another major or minor version";
    HeaderLen = 104, "HEADER_LEN", "another header length than 256, or one of SLM1 below 108";
    Flags = 105, "FLAGS", "an unknown required flag, or an unknown tensor flag";
    Reserved = 106, "RESERVED", "a reserved byte or a padding byte is not zero";
    Alignment = 107, "ALIGNMENT", "an offset is not where its alignment puts it";
    Overlap = 108, "OVERLAP", "two ranges share bytes";
    Length = 109, "LENGTH", "a length contradicts another";
    Strings = 110, "STRINGS", "the string table breaks its rules";
    Order = 111, "ORDER", "sections or payloads stand in another order";
    Pieces = 112, "PIECES", "the piece table does not describe the body";
    Shards = 113, "SHARDS", "the shard table is not the one local, raw shard";
    UnknownNumber = 114, "UNKNOWN_NUMBER", "an unknown dtype, layout, scale encoding, role, kind or codec";
    Unsupported = 115, "UNSUPPORTED", "the format knows it, this runtime does not compute with it";
    Hash = 116, "HASH", "`trlm_model_verify` found other bytes than the file promises";
    Alias = 117, "ALIAS", "an alias breaks its rules";
    Tensor = 118, "TENSOR", "a descriptor contradicts itself or its place";
    QuantCode = 119, "CODE", "a quantized code is the lowest of its width";
    Scale = 120, "SCALE", "a scale is negative, -0.0, subnormal, not finite, too large for float32, or 0 over a nonzero code";
    Duplicate = 121, "DUPLICATE", "two tensors have one name, or none is stored";
    Checksum = 122, "CHECKSUM", "an SLM1 file has other bytes than its checksum says";
    ChecksumProfile = 123, "CHECKSUM_PROFILE", "an SLM1 file's checksum is of no profile that is known here";
    NonFinite = 124, "NONFINITE", "a stored float is NaN or infinite";
    Index = 125, "INDEX", "row pointers or columns of a sparse residual do not ascend, or leave the matrix";
    Range = 126, "RANGE", "an offset and length overflow, or leave the file or the body";
    QuantPadding = 127, "PADDING", "a code behind the last column is not 0";
    Cbor = 201, "CBOR", "the configuration is not deterministic CBOR";
    ConfigField = 202, "CONFIG_FIELD", "a field is missing, unknown, ill-typed, out of range, or contradicts another";
    ConfigUnsupported = 203, "CONFIG_UNSUPPORTED", "a value that this runtime does not compute";
    ConfigDisagrees = 204, "CONFIG_DISAGREES", "header and configuration contradict each other";
    TensorMissing = 301, "TENSOR_MISSING", "a tensor that the configuration asks for is not there";
    TensorShape = 302, "TENSOR_SHAPE", "a tensor has other dimensions than the configuration says";
    TensorUnexpected = 303, "TENSOR_UNEXPECTED", "a tensor that the configuration does not ask for";
    TensorRole = 304, "TENSOR_ROLE", "name and role contradict each other";
    EmptyCase = 401, "EMPTY_CASE", "no tokens";
    TokenRange = 402, "TOKEN_RANGE", "a token id outside the vocabulary";
    PositionRange = 403, "POSITION_RANGE", "a position at or beyond the context, or of 2^20 or more, where sin and cos are not pinned";
    Context = 404, "CONTEXT", "more tokens than `max_position_embeddings`";
    NoVisibleKey = 405, "NO_VISIBLE_KEY", "a query sees no key, or none in its window";
    NoCase = 406, "NO_CASE", "a step or a read without a running case";
    OutOfMemory = 501, "OUT_OF_MEMORY", "an allocation failed";
    NullPointer = 502, "NULL_POINTER", "a null handle or pointer";
    Argument = 503, "ARGUMENT", "an argument out of range";
    UnknownOperator = 504, "UNKNOWN_OPERATOR", "`trlm_op` serves no operator of this name";
    Tok2Version = 601, "TOK2_VERSION", "another format, or a version or profile that this reader does not know";
    Tok2Length = 602, "TOK2_LENGTH", "fewer or more bytes than the block says it has";
    Tok2Flags = 603, "TOK2_FLAGS", "an unknown flag";
    Tok2Reserved = 604, "TOK2_RESERVED", "a reserved or padding byte is not zero";
    Tok2Limit = 605, "TOK2_LIMIT", "a count of the header beyond its limit, or against another one";
    Tok2Section = 606, "TOK2_SECTION", "a section out of order, out of place, or of the wrong length";
    Tok2Hash = 607, "TOK2_HASH", "a hash that the bytes do not have";
    Tok2Strings = 608, "TOK2_STRINGS", "the pool of strings breaks its rules";
    Tok2Sets = 609, "TOK2_SETS", "the pool of sets of scalars breaks its rules";
    Tok2Tables = 610, "TOK2_TABLES", "the pool of character tables breaks its rules";
    Tok2Patterns = 611, "TOK2_PATTERNS", "the pool of patterns breaks its rules";
    Tok2Stages = 612, "TOK2_STAGES", "the stages break their rules";
    Tok2Added = 613, "TOK2_ADDED", "the added tokens break their rules";
    Tok2Model = 614, "TOK2_MODEL", "the parameters of the model break their rules";
    Tok2Tokens = 615, "TOK2_TOKENS", "the coded tokens break their rules";
    Tok2Order = 616, "TOK2_ORDER", "ids and positions are not each other's inverse";
    Tok2Index = 617, "TOK2_INDEX", "the index is not that of the tokens";
    Tok2Merges = 618, "TOK2_MERGES", "the merges break their rules";
    Tok2Scores = 619, "TOK2_SCORES", "a score is no number";
    Tok2Roles = 620, "TOK2_ROLES", "the roles of ids break their rules";
    Tok2Pools = 621, "TOK2_POOLS", "a pool has another order than that of its use";
    Btok = 651, "BTOK", "a BTOK breaks a rule of its format";
    Bpe1 = 652, "BPE1", "a BPE1 breaks a rule of its format";
    Tok2Compile = 653, "TOK2_COMPILE", "a BPE1 holds more than TOK2 has room for";
    Utf8 = 701, "UTF8", "a text is no UTF-8; the place is its first ill-formed byte";
    TextTooLong = 702, "TEXT_TOO_LONG", "a text beyond the bound of one call";
    UnknownToken = 703, "UNKNOWN_TOKEN_MISSING", "no token stands for a text, and there is no unknown token";
    TokenId = 704, "TOKEN_ID", "no token has this id";
    PatternSteps = 705, "PATTERN_STEPS", "a pattern takes more steps on a text than its length allows";
    ChatInput = 801, "CHAT_INPUT", "messages, tools or variables that are no plain data";
    TemplateIr = 802, "TEMPLATE_IR", "a compiled template that no compiler of ours wrote";
    TemplateLimit = 803, "TEMPLATE_LIMIT", "a template or rendering beyond a declared bound";
    TemplateUnsupported = 804, "TEMPLATE_UNSUPPORTED", "an operation on values outside the template subset";
    TemplateEvaluation = 805, "TEMPLATE_EVALUATION", "an operation that the source's own renderer refuses too";
    TemplateRaised = 806, "TEMPLATE_RAISED", "the template itself refuses the conversation";
    NondeterministicTemplate = 807, "NONDETERMINISTIC_TEMPLATE", "the template reads the clock and nobody gave it a date";
}

/// A refusal. `place` is a field, tensor, row or byte offset; `detail` holds the values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The broken rule.
    pub code: Code,
    /// Where.
    pub place: String,
    /// What is wrong there.
    pub detail: String,
}

impl Error {
    /// Build an error.
    pub fn new(code: Code, place: impl Into<String>, detail: impl Into<String>) -> Error {
        Error { code, place: place.into(), detail: detail.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} at {}: {}", self.code.name(), self.place, self.detail)
    }
}

impl std::error::Error for Error {}

/// `Ok` where the condition holds, else the error that `otherwise` builds.
pub fn ensure(condition: bool, otherwise: impl FnOnce() -> Error) -> Result<()> {
    if condition {
        Ok(())
    } else {
        Err(otherwise())
    }
}
