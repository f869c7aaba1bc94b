"""Token texts and ids as `tokenizer.json` has them, with what is incomplete in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trlm_lab.base.config_bounds import TOKEN_ID, shown


def is_id(value: Any) -> bool:
    """Whether a JSON value is a token id."""
    return not TOKEN_ID.problem(value)


@dataclass(frozen=True)
class Problem:
    """Something incomplete: its JSON pointer in `tokenizer.json`, and what is wrong."""

    pointer: str
    detail: str


@dataclass(frozen=True)
class Vocabulary:
    """Token texts to ids, as `tokenizer.json` has them; `special` are its control ids."""

    ids: dict[str, int]
    added: dict[str, int]
    special: frozenset[int]
    problems: tuple[Problem, ...]

    def id_of(self, text: str) -> int | None:
        """The id of a token; added tokens come before the model's vocabulary."""
        return self.added.get(text, self.ids.get(text))

    @property
    def size(self) -> int:
        """One more than the largest id; 0 without tokens."""
        largest = max(self.ids.values(), default=-1)
        return max(largest, max(self.added.values(), default=-1)) + 1

    @property
    def control_texts(self) -> frozenset[str]:
        """Texts of the control tokens."""
        return frozenset(text for text, number in self.added.items() if number in self.special)


def vocabulary(tokenizer: dict[str, Any]) -> Vocabulary:
    """The vocabulary of a parsed `tokenizer.json`; empty without one."""
    if not tokenizer:
        return Vocabulary({}, {}, frozenset(), ())
    problems: list[Problem] = []
    ids = _model_ids(tokenizer.get("model"), problems)
    added: dict[str, int] = {}
    special: set[int] = set()
    rows = tokenizer.get("added_tokens")
    if rows is not None and not isinstance(rows, list):
        problems.append(Problem("/added_tokens", f"{shown(rows)} is no list of tokens"))
    for index, row in enumerate(rows if isinstance(rows, list) else []):
        place = f"/added_tokens/{index}"
        if not isinstance(row, dict) or not isinstance(row.get("content"), str):
            problems.append(Problem(place, "an added token has no content"))
        elif not is_id(row.get("id")):
            detail = f"the added token {row['content']!r} has the id {str(row.get('id'))[:40]}"
            problems.append(Problem(place, detail))
        else:
            added[row["content"]] = row["id"]
            special |= {row["id"]} if row.get("special") is True else set()
    return Vocabulary(ids, added, frozenset(special), tuple(problems))


def _model_ids(model: Any, problems: list[Problem]) -> dict[str, int]:
    vocab = model.get("vocab") if isinstance(model, dict) else None
    if isinstance(vocab, list):
        # Unigram: a list of (piece, score), the id is the place.
        texts = [r[0] for r in vocab if isinstance(r, list) and r and isinstance(r[0], str)]
        if len(texts) == len(vocab):
            return {text: number for number, text in enumerate(texts)}
        problems.append(Problem("/model/vocab", "a piece of the vocabulary is no (text, score)"))
        return {}
    if not isinstance(vocab, dict) or not all(map(is_id, vocab.values())):
        problems.append(Problem("/model/vocab", "model.vocab is no map of texts to ids"))
        return {}
    bpe = isinstance(model, dict) and model.get("type") == "BPE"
    if bpe and not isinstance(model.get("merges"), list):
        problems.append(Problem("/model/merges", "a BPE model has no merge table"))
    if len(set(vocab.values())) != len(vocab):
        detail = "two tokens of the vocabulary share one id"
        problems.append(Problem("/model/vocab", detail))
    return dict(vocab)
