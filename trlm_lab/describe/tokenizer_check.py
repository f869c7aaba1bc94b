"""`tokenizer.json` alone: complete, without contradictions, and loaded as it is written.

Structure only; which ids a text gets is not judged here. Source: the published format of the
`tokenizers` library, and how its loader numbers added tokens.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trlm_lab.base import strict_json
from trlm_lab.base.config_bounds import shown
from trlm_lab.describe.added_token_forms import added_token_forms
from trlm_lab.describe.receipt import ERROR, NOTE, ConflictFinding
from trlm_lab.describe.tokenizer_stages import stage_problems
from trlm_lab.describe.vocabulary import Vocabulary, is_id, vocabulary
from trlm_lab.errors import TrlmError

MODELS = ("BPE", "Unigram", "WordPiece", "WordLevel")
_MOST_NAMED = 20


def check_tokenizer(path: Path) -> list[dict[str, str]]:
    """Findings of a tokenizer file; none for a sound one. Bad JSON is a finding too."""
    try:
        row = strict_json.load_object(path)
    except TrlmError as error:
        return [{**error.as_finding(), "level": ERROR, "field": "tokenizer"}]
    return [finding.to_map() for finding in tokenizer_findings(row, path.name)]


def tokenizer_findings(row: dict[str, Any], name: str) -> list[ConflictFinding]:
    """Every broken rule of a parsed tokenizer file, at most 20 of a kind."""
    model = row.get("model")
    if not isinstance(model, dict) or model.get("type") not in MODELS:
        kind = model.get("type") if isinstance(model, dict) else model
        detail = f"the model type is {shown(kind)}; known: {', '.join(MODELS)}"
        where = f"{name}#/model/type"
        return [ConflictFinding("TOKENIZER_INCOMPLETE", where, detail, field="tokenizer")]
    vocab = vocabulary(row)
    rows = [("TOKENIZER_INCOMPLETE", p.pointer, p.detail) for p in vocab.problems]
    if not rows:
        rows += _model_problems(model, vocab)
        rows += _loaded_otherwise(row, vocab)
        rows += [one for _, one in zip(range(_MOST_NAMED), added_token_forms(row), strict=False)]
    rows += stage_problems(row, vocab)
    findings = [ConflictFinding(c, f"{name}#{p}", d, field="tokenizer") for c, p, d in rows]
    # Where a rule is broken, ids are missing for that reason.
    return findings or _holes(vocab, name)


def _model_problems(model: dict[str, Any], vocab: Vocabulary) -> list[tuple[str, str, str]]:
    if model["type"] == "BPE":
        return [row for _, row in zip(range(_MOST_NAMED), _merges(model, vocab.ids), strict=False)]
    if model["type"] == "Unigram":
        return _pieces(model)
    unknown = model.get("unk_token")
    if not isinstance(unknown, str) or vocab.id_of(unknown) is None:
        detail = f"unk_token is {shown(unknown)}, which is no token"
        return [("TOKENIZER_INCOMPLETE", "/model/unk_token", detail)]
    return []


def _merges(model: dict[str, Any], ids: dict[str, int]) -> Iterator[tuple[str, str, str]]:
    given = model.get("continuing_subword_prefix")
    prefix = given if isinstance(given, str) else ""
    seen: dict[tuple[str, str], int] = {}
    form = type(model["merges"][0]) if model["merges"] else list
    for rank, merge in enumerate(model["merges"]):
        place = f"/model/merges/{rank}"
        parts = merge.split(" ") if isinstance(merge, str) else merge
        pair = isinstance(parts, list) and len(parts) == 2
        if not isinstance(merge, form):
            yield "MERGE_FORM", place, "lists and texts are mixed, which the source does not load"
            continue
        if not pair or not all(isinstance(part, str) and part for part in parts):
            yield "MERGE_FORM", place, f"{shown(merge)} is no pair of tokens"
            continue
        left, right = parts
        if (left, right) in seen:
            detail = f"{left!r} {right!r} is merge {seen[left, right]} already"
            yield "MERGE_DUPLICATE", place, detail
        seen.setdefault((left, right), rank)
        joined = left + right.removeprefix(prefix)
        for part in (left, right, joined):
            if part not in ids:
                yield "MERGE_TOKEN", place, f"{part!r} is no token of the vocabulary"


def _pieces(model: dict[str, Any]) -> list[tuple[str, str, str]]:
    rows, seen = [], set()
    for number, piece in enumerate(model["vocab"]):
        place, score = f"/model/vocab/{number}", piece[1] if len(piece) == 2 else None
        finite = isinstance(score, (int, float)) and abs(score) < math.inf
        if not finite or isinstance(score, bool):
            rows.append(("TOKENIZER_INCOMPLETE", place, f"the score is {shown(score)}"))
        if piece[0] in seen:
            rows.append(("VOCAB_DUPLICATE", place, f"the piece {piece[0]!r} occurs twice"))
        seen.add(piece[0])
    unknown = model.get("unk_id")
    if unknown is not None and (not is_id(unknown) or unknown >= len(model["vocab"])):
        rows.append(("TOKENIZER_INCOMPLETE", "/model/unk_id", f"{shown(unknown)} is no piece"))
    return rows[:_MOST_NAMED]


def _loaded_otherwise(row: dict[str, Any], vocab: Vocabulary) -> list[tuple[str, str, str]]:
    """Added tokens that the loader numbers in another way than the file does.

    A token of the vocabulary keeps its id there; another gets the first id above the vocabulary's
    length and all added tokens before it, whatever the file says.
    """
    rows: list[tuple[str, str, str]] = []
    given: dict[str, int] = {}
    for index, token in enumerate(row.get("added_tokens") or []):
        text, number = token["content"], token["id"]
        place = f"/added_tokens/{index}"
        if text in given:
            rows.append(("ADDED_TOKEN_ID", place, f"{text!r} is added twice"))
            continue
        above = max(len(vocab.ids), max(given.values(), default=-1) + 1)
        given[text] = vocab.ids.get(text, above)
        if given[text] != number:
            detail = f"{text!r} has the id {number}, the source's loader gives it {given[text]}"
            rows.append(("ADDED_TOKEN_ID", place, detail))
    return rows[:_MOST_NAMED]


def _holes(vocab: Vocabulary, name: str) -> list[ConflictFinding]:
    used = {*vocab.ids.values(), *vocab.added.values()}
    if not used or len(used) == vocab.size:
        return []
    unused = vocab.size - len(used)
    first = next(number for number in range(vocab.size) if number not in used)
    detail = f"{unused} ids below {vocab.size} belong to no token, {first} is the first"
    return [ConflictFinding("VOCAB_HOLE", f"{name}#/model/vocab", detail, NOTE, "tokenizer")]
