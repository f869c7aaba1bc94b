"""A GGUF file whose keys contradict each other is refused by check and acquire alike."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trlm_lab.acquire import acquire
from trlm_lab.acquire.gguf_architecture import LLAMA
from trlm_lab.acquire.gguf_file import read_gguf
from trlm_lab.acquire.gguf_tensors import HeadShape, planned_tensors
from trlm_lab.describe import detect_conflicts, load_resolution
from trlm_lab.errors import ConflictError, GgufFieldError, GgufTensorError
from trlm_lab.flows.checking import approval, check_path

Make = Callable[..., Any]

KEY = "tokenizer.chat_template"
ENDS_OTHERWISE = "{% for m in messages %}{{ m['content'] + '<|endoftext|>' }}{% endfor %}"
ENDS_RIGHT = "{% for m in messages %}{{ m['content'] + '<|im_end|>' }}{% endfor %}"


def codes(path: Any) -> list[str]:
    return [f["code"] for f in check_path(path)["findings"] if f["level"] == "error"]


def test_a_template_that_ends_its_turns_otherwise_is_a_conflict(small_gguf: Make) -> None:
    file = small_gguf(drop={KEY}, extra={KEY: ENDS_OTHERWISE})
    assert codes(file.path) == ["EOS_CONFLICT"]
    with pytest.raises(
        ConflictError, match="ends its turns with <|endoftext|>".replace("|", r"\|")
    ):
        acquire(f"gguf:{file.path}", approve=approval())


def test_a_template_that_ends_with_the_stop_is_not(small_gguf: Make) -> None:
    file = small_gguf(drop={KEY}, extra={KEY: ENDS_RIGHT})
    assert check_path(file.path)["verdict"] == "accept"
    snapshot = acquire(f"gguf:{file.path}", approve=approval())
    assert check_path(snapshot.root)["verdict"] == "accept"


def test_a_stop_that_is_an_ordinary_word_is_a_conflict(small_gguf: Make) -> None:
    """The text of the token is made of the number, and so no second witness."""
    key = "tokenizer.ggml.eos_token_id"
    file = small_gguf(drop={key}, extra={key: 50})
    (finding,) = [f for f in check_path(file.path)["findings"] if f["level"] == "error"]
    assert (finding["code"], finding["where"]) == ("EOS_CONFLICT", "config.json#/eos_token_id")
    assert "id 50 is the ordinary token 'P'" in finding["detail"]
    with pytest.raises(ConflictError, match="id 50 is the ordinary token 'P'"):
        acquire(f"gguf:{file.path}", approve=approval())


def test_one_resolution_holds_before_and_after_the_conversion(
    small_gguf: Make, tmp_path: Path
) -> None:
    file = small_gguf(drop={KEY}, extra={KEY: ENDS_OTHERWISE})
    with pytest.raises(ConflictError) as refused:
        acquire(f"gguf:{file.path}", approve=approval())
    receipt: Any = refused.value.facts["receipt"]
    (stop,) = receipt.stops
    row = {
        "schema": "trlm.resolution.v1", "conflict_id": receipt.conflict_id(stop),
        "code": stop.code, "field": stop.field, "kind": "normative_choice", "value": [2],
        "reviewer": "A. Reviewer", "deviation": "The stop of the keys holds here.",
    }  # fmt: skip
    (tmp_path / "resolution.json").write_text(json.dumps(row))
    one = load_resolution(tmp_path / "resolution.json")
    root = acquire(f"gguf:{file.path}", approve=approval([one])).root
    assert detect_conflicts(root, resolutions=[one]).verdict == "accept"


def test_a_template_that_is_no_text_is_refused(small_gguf: Make) -> None:
    file = small_gguf(drop={KEY}, extra={KEY: 5})
    assert codes(file.path) == ["GGUF_FIELD"]
    with pytest.raises(GgufFieldError, match="chat template of the kind u32"):
        acquire(f"gguf:{file.path}")


SIZES = {
    "llama.block_count": 10**9,
    "llama.embedding_length": 2**20,
    "llama.attention.head_count": 5000,
    "llama.context_length": 0,
}


@pytest.mark.parametrize("key", SIZES)
def test_a_size_out_of_range_is_refused_with_its_range(small_gguf: Make, key: str) -> None:
    file = small_gguf(drop={key}, extra={key: SIZES[key]})
    (finding,) = check_path(file.path)["findings"]
    assert (finding["code"], key in finding["detail"]) == ("GGUF_FIELD", True)
    assert "is not an integer from 1 to" in finding["detail"]


COUNT, GROUPS = "llama.attention.head_count", "llama.attention.head_count_kv"
WIDTH, ROTATED = "llama.attention.key_length", "llama.rope.dimension_count"
#: Keys that the tensors deny (4 query and 2 key heads of 16, a width of 64, 96 in the MLP, 262
#: tokens), and the key that is blamed.
DENIED: dict[str, tuple[dict[str, int], str]] = {
    "the width of the MLP": ({"llama.feed_forward_length": 100}, "llama.feed_forward_length"),
    "the width of the model": ({"llama.embedding_length": 128}, "llama.embedding_length"),
    "fewer tokens": ({"llama.vocab_size": 261}, "llama.vocab_size"),
    "fewer query heads": ({COUNT: 2}, GROUPS),
    "query heads of no whole width": ({COUNT: 6, GROUPS: 2}, COUNT),
    "query heads of odd width": ({COUNT: 64, GROUPS: 32}, "llama.embedding_length"),
    "one key head": ({GROUPS: 1}, GROUPS),
    "a key head for each query": ({GROUPS: 4}, GROUPS),
    "groups of no whole size": ({GROUPS: 3}, GROUPS),
    "wider heads": ({WIDTH: 32}, WIDTH),
    "narrower heads": ({WIDTH: 8, "llama.attention.value_length": 8}, WIDTH),
    "values of another width": ({WIDTH: 16, "llama.attention.value_length": 32},
                                "llama.attention.value_length"),
    "a part of each head rotated": ({ROTATED: 8}, ROTATED),
    "more than a head rotated": ({ROTATED: 32}, ROTATED),
}  # fmt: skip


@pytest.mark.parametrize("name", DENIED)
def test_a_key_that_the_tensors_deny_is_refused_before_any_row_moves(
    small_gguf: Make, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys, blamed = DENIED[name]
    file = small_gguf(drop=set(keys), extra=keys)
    (finding,) = check_path(file.path)["findings"]
    assert (finding["code"], finding["where"]) == ("GGUF_FIELD", "small.gguf")
    assert finding["detail"].startswith(f"{blamed}: "), finding
    monkeypatch.setattr("trlm_lab.acquire.gguf_tensors.source_rows", None)
    with pytest.raises(GgufFieldError, match=blamed):
        acquire(f"gguf:{file.path}")


def test_a_width_that_is_stated_and_kept_is_no_conflict(small_gguf: Make) -> None:
    keys = {WIDTH: 16, "llama.attention.value_length": 16, ROTATED: 16}
    file = small_gguf(extra=keys)
    assert check_path(file.path)["verdict"] == "accept"
    provenance = acquire(f"gguf:{file.path}").provenance
    assert provenance["documents"]["config.json"]["keys"]["head_dim"] == WIDTH


def test_a_matrix_of_other_heads_is_never_put_in_order(small_gguf: Make) -> None:
    file = read_gguf(small_gguf().path)
    with pytest.raises(GgufTensorError, match="not the rows of 4 heads of width 8"):
        planned_tensors(file, LLAMA, 2, HeadShape(4, 2, 8))
