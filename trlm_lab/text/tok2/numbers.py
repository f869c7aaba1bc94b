"""The numbers of TOK2: kinds, limits, names in their order."""

from __future__ import annotations

import re

MAGIC = b"TOK2"
MAJOR, MINOR = 1, 0
#: Whose rules the stages follow, from 1, and the models of each.
PROFILES = ("tokenizers-0.23", "llama.cpp-0.3.36", "sentencepiece-0.2.3")
#: No reference.
NONE = 0xFFFFFFFF

SECTIONS = (
    "strings", "sets", "tables", "patterns", "stages", "added", "model", "tokens", "order",
    "index", "merges", "scores", "roles", "template",
)  # fmt: skip
MODELS = (
    "BPE", "Unigram", "WordPiece", "WordLevel", "GGUF BPE", "GGUF SPM", "GGUF WPM",
    "SentencePiece UNIGRAM", "SentencePiece BPE", "SentencePiece WORD", "SentencePiece CHAR",
)  # fmt: skip
PROFILE_OF = {
    name: {"GGUF": 2, "SentencePiece": 3}.get(name.partition(" ")[0], 1) for name in MODELS
}
#: Models with merges, and models whose ids have no holes.
MERGED = ("BPE", "GGUF BPE")
DENSE = ("Unigram", *(name for name in MODELS if PROFILE_OF[name] > 1))
#: How a token is decoded in profile 2.
AS_TEXT, PLAIN, BYTE, SILENT = range(4)
BYTE_NAME = re.compile("<0x[0-9A-Fa-f]{2}>")
NOTES = ("truncation", "padding")
#: Roles of ids, from 1.
ROLES = ("bos", "eos", "pad", "unk", "sep", "cls", "mask")
SCHEMES = ("always", "first", "never")
ADDED_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")

MAP, CLASSES, COMPOSITIONS, RUNS, CHARSMAP = range(1, 6)
EMPTY, LITERAL, ONE_OF, CONCAT, CHOICE, REPEAT, LOOK, ATOMIC, END = range(1, 10)
#: The last op that a profile has.
LAST_OP = {1: ATOMIC, 2: END, 3: END}

BLOCK = 16
MAX_FILE = 1 << 30
MAX_TOKENS = MAX_IDS = MAX_MERGES = 1 << 24
MAX_ADDED = 1 << 20
#: Profiles that have added tokens.
WITH_ADDED = (1, 2)
MAX_TOKEN_BYTES = 65_535
#: Of all tokens together; front coding stands for far more than it takes.
MAX_VOCABULARY_BYTES = 1 << 26
MAX_STRING_BYTES = 1 << 20
MAX_NODES = MAX_PIECES = 65_536
MAX_STAGES = 256
MAX_GROUP = 1 << 16
COUNT_LIMIT = 1 << 31


def pow2(number: int) -> int:
    """The largest power of two that is not above a number, and 1 for 0."""
    return 1 << max(number.bit_length() - 1, 0)
