"""A sound case from a seed, as a plain map with its blobs; the hostile ones are made from it."""

import hashlib
import random
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Draft:
    """A document and the files beside it, by path."""

    document: Any
    files: dict[str, bytes] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)


def identity(rng: random.Random) -> bytes:
    return rng.randbytes(32)


def observation(rng: random.Random, name: str, shape: list[int], files: dict[str, bytes]) -> Any:
    """A float32 array of random bits: NaN payloads and subnormals among them."""
    count = 4
    for size in shape:
        count *= size
    data = rng.randbytes(count)
    digest = hashlib.sha256(data)
    files[f"blobs/{digest.hexdigest()}"] = data
    return {
        "name": name,
        "semantic_role": "checkpoint",
        "layer": 3,
        "shape": shape,
        "dtype": "f32",
        "byte_order": "little",
        "layout": "c",
        "data_blob_hash": digest.digest(),
        "tolerance_profile": identity(rng),
    }


def sound(rng: random.Random) -> Draft:
    """Three observations, two of the best logits, four tokens."""
    files: dict[str, bytes] = {}
    names = {"embedding": [4, 3], "layers.3.q_proj": [4, 2], "layers.3.output": [2, 2, 2]}
    rows = [observation(rng, name, shape, files) for name, shape in names.items()]
    rows[1]["slice_description"] = "0:4,0:2 of 4x16"
    document = {
        "schema": "tinyrustlm.golden.v1",
        "case_id": identity(rng),
        "case_class": "public_mechanical",
        "source_identity": identity(rng),
        "effective_config_identity": identity(rng),
        "tokenizer_identity": identity(rng),
        "template_identity": identity(rng),
        "oracle_generator_identity": identity(rng),
        "input": {
            "kind": "token_ids",
            "data_or_commitment": rng.randbytes(16),
            "position_ids": [0, 1, 2, 3],
            "attention_mask": [1, 1, 0, 1],
        },
        "observations": rows,
        "expected_tokens": [7, 300, 70000],
        "top_k": [{"id": 7, "logit_bits": rng.randbytes(4)}, {"id": 300, "logit_bits": b"\0" * 4}],
        "raw_output_commitment": identity(rng),
        "generator_receipt": identity(rng),
    }
    return Draft(document, files)
