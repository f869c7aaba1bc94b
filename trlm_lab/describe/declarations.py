"""What the files of a model directory declare about special tokens, read without judging."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from trlm_lab.base import canon, strict_json
from trlm_lab.base.config_bounds import shown
from trlm_lab.base.plain_file import read_start
from trlm_lab.describe.model_card import ModelCard, read_card
from trlm_lab.describe.piece_model import PieceModel, read_piece_models
from trlm_lab.describe.receipt import Declaration
from trlm_lab.describe.vocabulary import Vocabulary
from trlm_lab.errors import JsonError, PartMissingError, Refused

#: The roles of the effective configuration, and those that only a tokenizer's files have.
ROLES = ("bos", "eos", "pad", "unk")
FURTHER = ("sep", "cls", "mask")
# The key of the separator is misspelt in the GGUF specification.
_GGUF_ROLE = {"pad": "padding", "unk": "unknown", "sep": "seperator"}


@dataclass(frozen=True)
class Documents:
    """The parsed documents; an absent file is an empty map and not in `present`.

    `other` are further JSON files by name, `gguf` the keys of a GGUF source, as its provenance has
    recorded them, `card` what the model card states; `digests` are the SHA-256 of the files that
    were parsed, by name; `pieces` are the SentencePiece models.
    """

    root: Path
    config: dict[str, Any]
    generation: dict[str, Any]
    tokenizer: dict[str, Any]
    tokenizer_config: dict[str, Any]
    special_map: dict[str, Any]
    present: frozenset[str]
    other: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    gguf: Mapping[str, Any] = field(default_factory=dict)
    card: ModelCard = field(default_factory=ModelCard)
    digests: Mapping[str, str] = field(default_factory=dict)
    pieces: tuple[PieceModel, ...] = ()


_FILES = {
    "config": "config.json",
    "generation": "generation_config.json",
    "tokenizer": "tokenizer.json",
    "tokenizer_config": "tokenizer_config.json",
    "special_map": "special_tokens_map.json",
}
_OTHER = (
    "added_tokens.json", "vocab.json", "chat_template.json", "processor_config.json",
    "preprocessor_config.json",
)  # fmt: skip

#: Vocabularies may be long; every other document is far below 4 MiB, which parse in 150 MB.
_LONG = {"tokenizer.json", "vocab.json"}
_MAX_BYTES = 4 << 20


def read_documents(root: Path) -> Documents:
    """Read the documents of a model directory strictly; only `config.json` must be there.

    Raises:
        PartMissingError: there is no `config.json`.
        NotPlainFileError: a document is a pipe, device or directory.
        JsonError, JsonDuplicateKeyError: a document is no strict JSON object.
        SentencePieceFileError, SentencePieceFieldError, TokenizerKindError: a file named as a
            SentencePiece model is none.
    """
    if not (root / _FILES["config"]).exists():
        raise PartMissingError(where=str(root), part=_FILES["config"])
    rows, digests = {}, {}
    for name in (*_FILES.values(), *_OTHER):
        if (root / name).exists():
            rows[name], digests[name] = _parsed(root, name)
    pieces = read_piece_models(root)
    digests |= {model.file: model.sha256 for model in pieces}
    parts = {part: rows.get(name, {}) for part, name in _FILES.items()}
    return Documents(
        root=root,
        present=frozenset(rows),
        other={name: rows[name] for name in _OTHER if name in rows},
        gguf=_gguf_keys(root),
        card=read_card(root),
        digests=digests,
        pieces=pieces,
        **parts,
    )


def read_template_documents(root: Path) -> Documents:
    """Only the documents that may hold a chat template; none of them must be there.

    Raises:
        NotPlainFileError, JsonError, JsonDuplicateKeyError: as `read_documents`.
    """
    names = [name for name in ("tokenizer_config.json", *_OTHER[2:]) if (root / name).exists()]
    rows = {name: _parsed(root, name)[0] for name in names}
    config = rows.pop("tokenizer_config.json", {})
    present = frozenset(names)
    return Documents(root, {}, {}, {}, config, {}, present, other=rows, gguf=_gguf_keys(root))


def _parsed(root: Path, name: str) -> tuple[dict[str, Any], str]:
    """The object in a file, and the SHA-256 of the bytes that hold it."""
    limit = strict_json.MAX_JSON_BYTES if name in _LONG else _MAX_BYTES
    data = strict_json.file_bytes(root / name, where=name, limit=limit)
    value = strict_json.loads(data, where=name)
    if not isinstance(value, dict):
        raise JsonError(where=name, detail="the document is no object")
    return value, hashlib.sha256(data).hexdigest()


def _gguf_keys(root: Path) -> dict[str, Any]:
    """Keys of the GGUF file that a snapshot was made of; a damaged record is its seal's affair."""
    path = root / "provenance.cbor"
    if not path.exists():
        return {}
    try:
        data = read_start(path, strict_json.MAX_JSON_BYTES)
        if len(data) > strict_json.MAX_JSON_BYTES:
            return {}
        row = canon.decode(data, where=path.name)
        fields = row.get("gguf", {}).get("fields", {}) if isinstance(row, dict) else {}
        plain = (str, int, float)
        return {str(k): v["value"] for k, v in fields.items() if isinstance(v.get("value"), plain)}
    except (Refused, AttributeError, TypeError):
        return {}


@dataclass(frozen=True)
class Declared:
    """One declaration of a special token: `ids` (None: nothing declared), or a `problem`.

    An id may be any integer, also one that no vocabulary has. `whole`: the place can list the
    entire stop set; a tokenizer file names one of its members.
    """

    file: str
    pointer: str
    raw: Any
    ids: tuple[int, ...] | None = None
    problem: str = ""
    whole: bool = False

    @property
    def declaration(self) -> Declaration:
        """The form that the receipt holds."""
        return Declaration(self.file, self.pointer, self.raw)


def declared_ids(documents: Documents, vocab: Vocabulary, role: str) -> list[Declared]:
    """Every declaration of a role (`bos`, `eos`, ...), in the order of the files."""
    key = f"{role}_token"
    rows = [
        _number(_FILES[part], f"/{key}_id", getattr(documents, part).get(f"{key}_id"))
        for part in ("config", "generation")
    ]
    inner = documents.config.get("text_config")
    if isinstance(inner, dict):
        rows.append(_number(_FILES["config"], f"/text_config/{key}_id", inner.get(f"{key}_id")))
    for file, row in _token_files(documents):
        rows.append(_text(file, f"/{key}", row.get(key), documents, vocab))
        rows.append(_member(file, f"/{key}_id", row.get(f"{key}_id")))
    if role == "unk":
        model = documents.tokenizer.get("model")
        raw = model.get("unk_token") if isinstance(model, dict) else None
        rows.append(_text(_FILES["tokenizer"], "/model/unk_token", raw, documents, vocab))
    padding = documents.tokenizer.get("padding")
    if role == "pad" and isinstance(padding, dict):
        file, raw = _FILES["tokenizer"], padding.get("pad_token")
        rows.append(_member(file, "/padding/pad_id", padding.get("pad_id")))
        rows.append(_text(file, "/padding/pad_token", raw, documents, vocab))
    name = f"tokenizer.ggml.{_GGUF_ROLE.get(role, role)}_token_id"
    rows.append(_member("provenance.cbor", f"/gguf/fields/{name}", documents.gguf.get(name)))
    rows += [
        Declared(model.file, one.pointer, one.said, (one.number,))
        for model in documents.pieces
        for one in model.roles
        if one.role == role
    ]
    return [row for row in rows if row.raw is not None]


def role_texts(documents: Documents, role: str) -> list[Declaration]:
    """What the files of tokenizer and processor say of a role, as they say it."""
    key = f"{role}_token"
    files = _token_files(documents)
    return [Declaration(file, f"/{key}", row[key]) for file, row in files if key in row]


def _token_files(documents: Documents) -> list[tuple[str, dict[str, Any]]]:
    """The files that name special tokens by their texts."""
    own = [(_FILES[part], getattr(documents, part)) for part in ("tokenizer_config", "special_map")]
    return own + [(file, documents.other.get(file, {})) for file in _OTHER[3:]]


def _number(file: str, pointer: str, raw: Any) -> Declared:
    values = raw if isinstance(raw, list) else [raw]
    if raw is None:
        return Declared(file, pointer, None)
    if values and all(isinstance(v, int) and not isinstance(v, bool) for v in values):
        return Declared(file, pointer, raw, tuple(sorted(set(values))), whole=True)
    problem = f"{shown(raw)} is neither an id nor a list of ids"
    return Declared(file, pointer, raw, problem=problem)


def _member(file: str, pointer: str, raw: Any) -> Declared:
    """As `_number`, of a place where a single id names one of the set."""
    one = _number(file, pointer, raw)
    return replace(one, whole=isinstance(raw, list) and one.whole)


def _text(file: str, pointer: str, raw: Any, documents: Documents, vocab: Vocabulary) -> Declared:
    text = raw.get("content") if isinstance(raw, dict) else raw
    if raw is None:
        return Declared(file, pointer, None)
    if not isinstance(text, str):
        return Declared(file, pointer, raw, problem=f"{shown(raw)} is no token")
    number = vocab.id_of(text)
    if number is not None:
        return Declared(file, pointer, text, (number,))
    if not documents.tokenizer:
        # Without tokenizer.json the text cannot be resolved; it is evidence, and no conflict.
        return Declared(file, pointer, text)
    return Declared(file, pointer, text, problem=f"{text!r} is no token of tokenizer.json")
