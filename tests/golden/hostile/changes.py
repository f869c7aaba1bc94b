"""Changes to the document of a draft, by path and key."""

import random
from typing import Any

from tests.golden.hostile.row import Change
from tests.golden.sound import Draft

#: Where each map of the schema stands, and its keys: required, then optional.
TABLES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "$": (
        ("case_id", "case_class", "source_identity", "effective_config_identity",
         "tokenizer_identity", "template_identity", "oracle_generator_identity", "input",
         "observations", "top_k", "generator_receipt"),
        ("expected_tokens", "raw_output_commitment"),
    ),
    "$.input": (("kind", "data_or_commitment"), ("position_ids", "attention_mask")),
    "$.observations[1]": (
        ("name", "semantic_role", "shape", "dtype", "byte_order", "layout", "data_blob_hash",
         "tolerance_profile"),
        ("layer", "slice_description"),
    ),
    "$.top_k[1]": (("id", "logit_bits"), ()),
}  # fmt: skip


def at(document: Any, path: str) -> Any:
    """The map at a path of `TABLES`."""
    found = document
    for part in path.removeprefix("$").lstrip(".").replace("[", ".[").split("."):
        if part.startswith("["):
            found = found[int(part[1:-1])]
        elif part:
            found = found[part]
    return found


def put(path: str, key: str, value: Any, place: str | None = None) -> Change:
    """Set a key; the place is the key's own unless another is given."""

    def change(draft: Draft, rng: random.Random) -> str:
        at(draft.document, path)[key] = value
        return place or f"{path}.{key}"

    return change


def drop(path: str, key: str) -> Change:
    def change(draft: Draft, rng: random.Random) -> str:
        del at(draft.document, path)[key]
        return f"{path}.{key}"

    return change


def whole(value: Any) -> Change:
    def change(draft: Draft, rng: random.Random) -> str:
        draft.document = value
        return "$.schema"

    return change
