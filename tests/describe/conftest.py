"""Small model directories with the declarations that a test asks for."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.plain_llama import plain_llama
from trlm_lab.base.records import SourceDefault, SourceDefaults

Tree = Callable[..., Path]

TOKENS = {"[UNK]": 0, "word": 1, "<|start|>": 2, "<|stop|>": 3, "<|turn|>": 4}

CONFIG: dict[str, Any] = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 8,
    "hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 1, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 4, "max_position_embeddings": 32, "hidden_act": "silu",
    "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "attention_bias": False, "mlp_bias": False,
    "tie_word_embeddings": True, "bos_token_id": 2, "eos_token_id": 3,
}  # fmt: skip


def tokenizer_json(**changes: Any) -> dict[str, Any]:
    added = [
        {"id": number, "content": text, "special": True}
        for text, number in TOKENS.items()
        if text.startswith("<|")
    ]
    model = {"type": "WordLevel", "vocab": dict(TOKENS), "unk_token": "[UNK]"}
    return {"version": "1.0", "added_tokens": added, "model": model, **changes}


def post(*pieces: str) -> dict[str, Any]:
    """A tokenizer whose post-processor puts these tokens around a text, `$` for the text."""
    single = [{"Sequence": {"id": "A", "type_id": 0}} if p == "$" else
              {"SpecialToken": {"id": p, "type_id": 0}} for p in pieces]  # fmt: skip
    special = {
        p: {"id": p, "ids": [TOKENS[p]], "tokens": [p]}
        for p in dict.fromkeys(pieces)
        if p in TOKENS
    }
    pair = [*single, {"Sequence": {"id": "B", "type_id": 1}}]
    row = {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special}
    return tokenizer_json(post_processor=row)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Writes a directory; a keyword replaces a document, None leaves it out."""

    def write(
        config: dict[str, Any] | None = None,
        generation: dict[str, Any] | None = None,
        tokenizer: dict[str, Any] | None = None,
        tokenizer_config: dict[str, Any] | None = None,
        bare: bool = False,
    ) -> Path:
        documents = {
            "config.json": {**CONFIG, **(config or {})},
            "generation_config.json": generation,
        }
        if not bare:
            documents["tokenizer.json"] = tokenizer or tokenizer_json()
            documents["tokenizer_config.json"] = {
                "bos_token": "<|start|>", "eos_token": "<|stop|>", **(tokenizer_config or {})
            }  # fmt: skip
        for name, row in documents.items():
            if row is not None:
                (tmp_path / name).write_text(json.dumps(row))
        return tmp_path

    return write


@pytest.fixture
def defaults() -> Callable[..., SourceDefaults]:
    """What a source framework would supply for CONFIG; keywords change or (None) drop values."""

    def make(**changes: Any) -> SourceDefaults:
        values: dict[str, Any] = {
            **plain_llama(1), **{k: v for k, v in CONFIG.items() if k != "architectures"},
            "rms_norm_eps": 9.999999747378752e-06, "rope_inv_freq": [1.0, 0.009999999776482582],
            "rope_order": "half_split", "attention_scale": 0.5, "eos_token_id": [3],
            "pad_token_id": None, "unk_token_id": None, **changes,
        }  # fmt: skip
        rows = [SourceDefault(k, v, "test") for k, v in values.items() if v != "dropped"]
        return SourceDefaults("framework 1.0", tuple(rows))

    return make
