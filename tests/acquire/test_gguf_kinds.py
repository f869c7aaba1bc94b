"""A key of the tokenizer that holds another kind of value is refused by its name, not read as one.

Zero and an empty list would pass for false, the text `false` and a list of a false for true.
"""

from collections.abc import Callable
from typing import Any

import pytest

from tests.acquire.test_gguf_gemma import gemma
from trlm_lab import errors
from trlm_lab.acquire import acquire
from trlm_lab.flows.checking import check_path

__all__ = ["gemma"]
Make = Callable[..., Any]
K = "tokenizer.ggml."
WRONG: list[tuple[str, Any, str]] = [
    ("model", [1, 2], "array of i32"),
    ("model", 3, "u32"),
    ("pre", [1], "array of i32"),
    ("pre", ["default"], "array of string"),
    ("pre", True, "bool"),
    ("add_space_prefix", 0, "u32"),
    ("add_space_prefix", "false", "string"),
    ("add_space_prefix", [False], "array of bool"),
    ("add_bos_token", [False], "array of bool"),
    ("add_bos_token", "no", "string"),
    ("add_bos_token", 0, "u32"),
    ("add_eos_token", 0.0, "f32"),
]


@pytest.mark.parametrize("architecture", ["llama", "gemma3"])
@pytest.mark.parametrize(("key", "value", "kind"), WRONG, ids=range(len(WRONG)))
def test_another_kind_of_value(
    small_gguf: Make, gemma: Make, architecture: str, key: str, value: Any, kind: str
) -> None:
    make = gemma if architecture == "gemma3" else small_gguf
    file = make(drop={K + key}, extra={K + key: value})
    with pytest.raises(errors.GgufFieldError, match=f"of the kind {kind}; it must be"):
        acquire(f"gguf:{file.path}")
    found = check_path(file.path)
    assert found["verdict"] == "refuse"
    assert any(K + key in str(row) for row in found["findings"])


@pytest.mark.parametrize("one", [True, 1.0])
def test_types_of_tokens_are_integers(small_gguf: Make, one: Any) -> None:
    count = len(small_gguf().tokens)
    file = small_gguf(drop={f"{K}token_type"}, extra={f"{K}token_type": [one] * count})
    with pytest.raises(errors.GgufTokenizerError, match="token_type"):
        acquire(f"gguf:{file.path}")
