"""The SentencePiece BPE of a GGUF file (the format's model `llama`) as merges in their order.

A SentencePiece BPE joins the neighbours whose piece has the highest score; a `tokenizer.json` lists
merges by rank. So every way to cut a piece into two pieces is a merge, in descending order of the
joined piece's score. User-defined pieces have no score of their own there; they come first, longer
ones before shorter ones, as in the conversion of the source framework: Gemma 3's published
`tokenizer.json` has the same merges in the same order.
"""

from __future__ import annotations

from typing import Any

from trlm_lab.acquire.gguf_file import GgufFile
from trlm_lab.acquire.gguf_vocabulary import (
    BYTE,
    CONTROL,
    NORMAL,
    SPECIAL_IDS,
    UNKNOWN,
    USER_DEFINED,
    ModelPart,
    fail,
    flag,
    optional,
    require_known,
    texts,
    token_types,
    vocabulary,
    word,
)
from trlm_lab.errors import GgufPreTokenizerError

SPACE = "\u2581"
_KNOWN = frozenset({
    "model", "pre", "tokens", "scores", "token_type", "add_bos_token", "add_eos_token",
    "add_sep_token", "add_space_prefix", *SPECIAL_IDS.values(),
})  # fmt: skip
_KINDS = frozenset({NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE})
_PRE = (None, "default")


def pieces_part(file: GgufFile) -> tuple[ModelPart, list[int]]:
    """The model and the kinds of its pieces.

    Raises:
        GgufPreTokenizerError: a pre-tokenizer word; this model has none.
        GgufTokenizerError: pieces, kinds and scores that contradict, or a flag that is not
            converted.
        GgufFieldError: a key is unknown.
    """
    require_known(file, _KNOWN, ("add_eos_token", "add_sep_token", "add_space_prefix"))
    if flag(file, "add_space_prefix") is None:
        # Absent means true in the format.
        raise fail(file, "add_space_prefix is not false, which is not converted for this model")
    pre = word(file, "pre")
    if pre not in _PRE:
        raise GgufPreTokenizerError(where=file.path.name, word=pre, known="default")
    kinds = token_types(file, _KINDS, "SentencePiece BPE")
    stored = texts(file, "tokens")
    # The format spells the spaces of user-defined pieces out, since it cuts them out of raw text.
    tokens = [
        text.replace(" ", SPACE) if kind == USER_DEFINED else text
        for text, kind in zip(stored, kinds, strict=True)
    ]
    vocab = vocabulary(file, tokens)
    _require_bytes(file, vocab, kinds)
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": _unknown(file, tokens),
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": True,
        "byte_fallback": True,
        "ignore_merges": False,
        "vocab": vocab,
        "merges": _merges(vocab, kinds, _scores(file, len(tokens))),
    }
    pre_tokenizer = {
        "type": "Split",
        "pattern": {"String": " "},
        "behavior": "MergedWithPrevious",
        "invert": False,
    }
    return ModelPart(tokens, model, _replaced(" ", SPACE), pre_tokenizer, _decoder()), kinds


def _replaced(old: str, new: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"String": old}, "content": new}


def _decoder() -> dict[str, Any]:
    steps = [_replaced(SPACE, " "), {"type": "ByteFallback"}, {"type": "Fuse"}]
    return {"type": "Sequence", "decoders": steps}


def _unknown(file: GgufFile, tokens: list[str]) -> str:
    number = optional(file, "unknown_token_id")
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(tokens):
        raise fail(file, f"unknown_token_id {number!r} is no id below {len(tokens)}")
    return tokens[number]


def _require_bytes(file: GgufFile, vocab: dict[str, int], kinds: list[int]) -> None:
    for byte in range(256):
        text = f"<0x{byte:02X}>"
        if text not in vocab or kinds[vocab[text]] != BYTE:
            raise fail(file, f"the byte piece {text} is missing")
    if kinds.count(BYTE) != 256:
        raise fail(file, f"{kinds.count(BYTE)} byte pieces, there are 256 bytes")


def _scores(file: GgufFile, count: int) -> list[float]:
    field = file.fields.get("tokenizer.ggml.scores")
    if field is None or field.kind != "array of f32" or len(field.value) != count:
        raise fail(file, f"scores does not give one float to each of {count} pieces")
    scores: list[float] = field.value
    return scores


def _merges(vocab: dict[str, int], kinds: list[int], scores: list[float]) -> list[tuple[str, str]]:
    tokens = list(vocab)
    ranked: list[tuple[float, int, int, str, str]] = []
    for number, text in enumerate(tokens):
        if kinds[number] not in (NORMAL, USER_DEFINED):
            continue
        score = 0.0 if kinds[number] == USER_DEFINED else scores[number]
        cuts = ((text[:at], text[at:]) for at in range(1, len(text)))
        found = [(vocab[a], vocab[b]) for a, b in cuts if a in vocab and b in vocab]
        for left, right in sorted(found):
            a, b = tokens[left], tokens[right]
            ranked.append((-score, -len(a), -len(b), a, b))
    ranked.sort(key=lambda row: row[:3])
    return [(a, b) for *_, a, b in ranked]
