"""What the files of a model directory declare: special tokens, vocabulary, templates, families."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trlm_lab.base import strict_json
from trlm_lab.errors import PartMissingError

ROLES = ("bos", "eos", "pad", "unk")


@dataclass(frozen=True)
class Documents:
    """The parsed JSON documents; an absent file is an empty map and not in `present`."""

    root: Path
    config: dict[str, Any]
    generation: dict[str, Any]
    tokenizer: dict[str, Any]
    tokenizer_config: dict[str, Any]
    special_map: dict[str, Any]
    present: frozenset[str]


_FILES = {
    "config": "config.json",
    "generation": "generation_config.json",
    "tokenizer": "tokenizer.json",
    "tokenizer_config": "tokenizer_config.json",
    "special_map": "special_tokens_map.json",
}


def read_documents(root: Path) -> Documents:
    """Read the documents of a model directory strictly; only `config.json` must be there.

    Raises:
        PartMissingError: there is no `config.json`.
        JsonError, JsonDuplicateKeyError: a document is no strict JSON object.
    """
    if not (root / _FILES["config"]).is_file():
        raise PartMissingError(where=str(root), part=_FILES["config"])
    present = frozenset(name for name in _FILES.values() if (root / name).is_file())
    rows = {
        part: strict_json.load_object(root / name, where=name)
        if name in present or part == "config"
        else {}
        for part, name in _FILES.items()
    }
    return Documents(root=root, present=present, **rows)


@dataclass(frozen=True)
class Vocabulary:
    """Token texts to ids, as `tokenizer.json` has them; `special` are its control ids."""

    ids: dict[str, int]
    added: dict[str, int]
    special: frozenset[int]
    problems: tuple[str, ...]

    def id_of(self, text: str) -> int | None:
        """The id of a token; added tokens come before the model's vocabulary."""
        return self.added.get(text, self.ids.get(text))

    @property
    def size(self) -> int:
        """One more than the largest id; 0 without tokens."""
        return max([-1, *self.ids.values(), *self.added.values()]) + 1


def vocabulary(documents: Documents) -> Vocabulary:
    """The vocabulary of `tokenizer.json`; empty without one, with what is incomplete in it."""
    if not documents.tokenizer:
        return Vocabulary({}, {}, frozenset(), ())
    problems: list[str] = []
    ids = _model_ids(documents.tokenizer.get("model"), problems)
    added: dict[str, int] = {}
    special: set[int] = set()
    rows = documents.tokenizer.get("added_tokens")
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict) or not isinstance(row.get("content"), str):
            problems.append("an added token has no content")
        elif not is_id(row.get("id")):
            problems.append(f"the added token {row['content']!r} has the id {row.get('id')!r}")
        else:
            added[row["content"]] = row["id"]
            special |= {row["id"]} if row.get("special") is True else set()
    return Vocabulary(ids, added, frozenset(special), tuple(problems))


def _model_ids(model: Any, problems: list[str]) -> dict[str, int]:
    vocab = model.get("vocab") if isinstance(model, dict) else None
    if isinstance(vocab, list):
        # Unigram: a list of (piece, score), the id is the place.
        texts = [r[0] for r in vocab if isinstance(r, list) and r and isinstance(r[0], str)]
        if len(texts) == len(vocab):
            return {text: number for number, text in enumerate(texts)}
        problems.append("a piece of the vocabulary is no (text, score)")
        return {}
    if not isinstance(vocab, dict) or not all(map(is_id, vocab.values())):
        problems.append("model.vocab is no map of texts to ids")
        return {}
    bpe = isinstance(model, dict) and model.get("type") == "BPE"
    if bpe and not isinstance(model.get("merges"), list):
        problems.append("a BPE model has no merge table")
    if len(set(vocab.values())) != len(vocab):
        problems.append("two tokens of the vocabulary share one id")
    return dict(vocab)


def is_id(value: Any) -> bool:
    """Whether a JSON value is a token id."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


@dataclass(frozen=True)
class Declared:
    """One declaration of a special token: `ids` (None: nothing declared), or a `problem`."""

    file: str
    raw: Any
    ids: tuple[int, ...] | None = None
    problem: str = ""


def declared_ids(documents: Documents, vocab: Vocabulary, role: str) -> list[Declared]:
    """Every declaration of a role (`bos`, `eos`, `pad`, `unk`), in the order of the files."""
    rows = [
        _number(_FILES["config"], documents.config.get(f"{role}_token_id")),
        _number(_FILES["generation"], documents.generation.get(f"{role}_token_id")),
    ]
    for part in ("tokenizer_config", "special_map"):
        raw = getattr(documents, part).get(f"{role}_token")
        rows.append(_text(_FILES[part], raw, documents, vocab))
    if role == "unk":
        model = documents.tokenizer.get("model")
        raw = model.get("unk_token") if isinstance(model, dict) else None
        rows.append(_text(_FILES["tokenizer"], raw, documents, vocab))
    return [row for row in rows if row.raw is not None]


def _number(file: str, raw: Any) -> Declared:
    values = raw if isinstance(raw, list) else [raw]
    if raw is None or (raw and all(map(is_id, values))) or is_id(raw):
        return Declared(file, raw, None if raw is None else tuple(sorted(set(values))))
    return Declared(file, raw, problem=f"{raw!r} is neither an id nor a list of ids")


def _text(file: str, raw: Any, documents: Documents, vocab: Vocabulary) -> Declared:
    text = raw.get("content") if isinstance(raw, dict) else raw
    if raw is None:
        return Declared(file, None)
    if not isinstance(text, str):
        return Declared(file, raw, problem=f"{raw!r} is no token")
    number = vocab.id_of(text)
    if number is not None:
        return Declared(file, text, (number,))
    if not documents.tokenizer:
        # Without tokenizer.json the text cannot be resolved; it is evidence, and no conflict.
        return Declared(file, text)
    return Declared(file, text, problem=f"{text!r} is no token of tokenizer.json")


def declared_templates(documents: Documents) -> dict[str, str]:
    """Every chat template by where it stands: file, or file and name."""
    found: dict[str, str] = {}
    raw = documents.tokenizer_config.get("chat_template")
    for row in raw if isinstance(raw, list) else [{"name": "", "template": raw}]:
        if isinstance(row, dict) and isinstance(row.get("template"), str):
            name = row.get("name")
            found["tokenizer_config.json" + (f":{name}" if name else "")] = row["template"]
    single = documents.root / "chat_template.jinja"
    if single.is_file():
        found[single.name] = single.read_bytes().decode("utf-8", "surrogateescape")
    wrapped = documents.root / "chat_template.json"
    if wrapped.is_file():
        text = strict_json.load_object(wrapped).get("chat_template")
        found[wrapped.name] = text if isinstance(text, str) else ""
    more = documents.root / "additional_chat_templates"
    if more.is_dir():
        for path in sorted(more.glob("*.jinja")):
            found[f"{more.name}/{path.name}"] = path.read_bytes().decode("utf-8", "surrogateescape")
    return found
