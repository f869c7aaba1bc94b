"""Documents of any JSON: a check gives findings with all their parts, never another exception."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.describe.conftest import CONFIG, tokenizer_json
from trlm_lab.base import canon
from trlm_lab.describe import check_model_directory, detect_conflicts
from trlm_lab.errors import Refused

RELAXED = settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8), st.sampled_from(["<|stop|>", "<|turn|>", "word", "{{ x }}", "BPE"]),
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=8,
)


def changes(*keys: str) -> Any:
    return st.dictionaries(st.sampled_from(keys), values, max_size=4)


config = changes(*CONFIG, "rope_parameters", "rope_scaling", "pad_token_id", "odd")
generation = changes("bos_token_id", "eos_token_id", "pad_token_id", "temperature", "odd")
tokenizer = changes("model", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
                    "decoder", "version", "padding", "truncation")  # fmt: skip
tokenizer_config = changes("bos_token", "eos_token", "pad_token", "unk_token", "chat_template",
                           "added_tokens_decoder", "tokenizer_class", "eos_token_id", "mask_token",
                           "additional_special_tokens", "extra_special_tokens",
                           "image_token")  # fmt: skip
model = changes("type", "vocab", "merges", "unk_token", "unk_id", "continuing_subword_prefix")


@pytest.mark.slow
@RELAXED
@given(config, generation, tokenizer, tokenizer_config, model, values)
def test_any_documents_are_judged(
    tmp_path: Path, one: Any, two: Any, three: Any, four: Any, five: Any, card: Any
) -> None:
    base = tokenizer_json()
    base["model"] = {**base["model"], "merges": [], **five}
    documents = {
        "config.json": {**CONFIG, **one},
        "generation_config.json": two,
        "tokenizer.json": {**base, **three},
        "tokenizer_config.json": four,
        "README.md": f"```\neos_token_id={card}\n<|im_start|>user\n```",
    }
    for name, row in documents.items():
        (tmp_path / name).write_text(row if isinstance(row, str) else json.dumps(row))
    for finding in check_model_directory(tmp_path):
        assert all(finding[key] for key in ("code", "where", "detail", "fix", "level")), finding
        assert len(finding["detail"]) < 5000
    try:
        receipt = detect_conflicts(tmp_path)
    except Refused:
        return
    assert canon.encode(receipt.to_map())
