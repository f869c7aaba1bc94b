"""A GGUF file whose keys contradict each other is refused by check and acquire alike."""

from collections.abc import Callable
from typing import Any

import pytest

from trlm_lab.acquire import acquire
from trlm_lab.errors import ConflictError, GgufFieldError
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
