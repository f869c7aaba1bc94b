"""Tokens, their kinds and the special ids of a GGUF file, each checked before it is used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trlm_lab.acquire.gguf_file import GgufFile
from trlm_lab.errors import GgufFieldError, GgufTokenizerError

PREFIX = "tokenizer.ggml."
SPECIAL_IDS = {
    "bos_token": "bos_token_id",
    "eos_token": "eos_token_id",
    "pad_token": "padding_token_id",
    "unk_token": "unknown_token_id",
}
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6


_INTEGERS = frozenset(f"array of {sign}{bits}" for sign in "iu" for bits in (8, 16, 32, 64))


@dataclass(frozen=True)
class ModelPart:
    """`model` of a `tokenizer.json` and what stands around it, and the texts of its tokens."""

    tokens: list[str]
    model: dict[str, Any]
    normalizer: dict[str, Any] | None
    pre_tokenizer: dict[str, Any]
    decoder: dict[str, Any]


def fail(file: GgufFile, detail: str) -> GgufTokenizerError:
    """The error of a tokenizer whose parts contradict each other or are not converted."""
    return GgufTokenizerError(where=file.path.name, detail=detail)


def optional(file: GgufFile, key: str) -> Any:
    """The value of a key of the tokenizer, or None."""
    field = file.fields.get(PREFIX + key)
    return None if field is None else field.value


def flag(file: GgufFile, key: str) -> bool | None:
    """A switch of the tokenizer, or None. Raises GgufFieldError where it is of another kind."""
    found: bool | None = _of_kind(file, key, "bool")
    return found


def word(file: GgufFile, key: str) -> str | None:
    """A text of the tokenizer, or None. Raises GgufFieldError where it is of another kind."""
    found: str | None = _of_kind(file, key, "string")
    return found


def _of_kind(file: GgufFile, key: str, kind: str) -> Any:
    field = file.fields.get(PREFIX + key)
    if field is not None and field.kind != kind:
        detail = f"a value of the kind {field.kind}; it must be of the kind {kind}"
        raise GgufFieldError(where=file.path.name, key=PREFIX + key, detail=detail)
    return None if field is None else field.value


def require_known(file: GgufFile, known: frozenset[str], unset: tuple[str, ...]) -> None:
    """Every key of the tokenizer is known, and the flags named in `unset` are not true.

    Raises:
        GgufFieldError: an unknown key, or a flag that is no Boolean.
        GgufTokenizerError: a flag that is not converted.
    """
    for key in file.fields:
        name = key.removeprefix(PREFIX)
        if key.startswith("tokenizer.") and key != "tokenizer.chat_template" and name not in known:
            detail = "the key may change token ids and is not known here"
            raise GgufFieldError(where=file.path.name, key=key, detail=detail)
    for key in unset:
        if flag(file, key):
            raise fail(file, f"{key} is true, which is not converted for this tokenizer model")


def texts(file: GgufFile, key: str) -> list[str]:
    """A list of texts. Raises GgufTokenizerError where the key has none."""
    field = file.fields.get(PREFIX + key)
    if field is None or field.kind != "array of string":
        raise fail(file, f"{PREFIX}{key} is no list of texts")
    found: list[str] = field.value
    return found


def token_types(file: GgufFile, allowed: frozenset[int], kind: str) -> list[int]:
    """The kind of each token. Raises GgufTokenizerError for one that has no place in a `kind`."""
    field = file.fields.get(PREFIX + "token_type")
    types: Any = field.value if field is not None and field.kind in _INTEGERS else None
    count = len(texts(file, "tokens"))
    if not isinstance(types, list) or len(types) != count:
        raise fail(file, f"token_type does not give one type to each of {count} tokens")
    strange = set(types) - allowed
    if strange:
        raise fail(file, f"token types {sorted(strange)} have no place in a {kind}")
    return types


def vocabulary(file: GgufFile, tokens: list[str]) -> dict[str, int]:
    """Token to id. Raises GgufTokenizerError where one occurs twice."""
    vocab = {token: number for number, token in enumerate(tokens)}
    if len(vocab) != len(tokens):
        twice = next(t for n, t in enumerate(tokens) if vocab[t] != n)
        raise fail(file, f"the token {twice!r} occurs twice")
    return vocab


def special_ids(file: GgufFile, count: int) -> dict[str, int]:
    """Role to id, for the roles that the file fills. Raises GgufFieldError for what is no id."""
    ids: dict[str, int] = {}
    for role, key in SPECIAL_IDS.items():
        value = optional(file, key)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < count:
            detail = f"{value!r} is no id below {count}"
            raise GgufFieldError(where=file.path.name, key=PREFIX + key, detail=detail)
        ids[role] = value
    return ids
