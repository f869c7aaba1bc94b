"""A cache of its own for every test, and small GGUF files written by the format's own library."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from numpy.typing import NDArray

WORDS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
TEMPLATE = "{% for m in messages %}{{ m['content'] }}{% endfor %}"


@pytest.fixture(autouse=True)
def own_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Path:
    """TRLM_HOME below the test's directory; tests of the real model share the user's cache."""
    home = tmp_path / "home"
    if "model" not in request.keywords:
        monkeypatch.setenv("TRLM_HOME", str(home))
    return home


def byte_alphabet() -> list[str]:
    """The 256 characters of a byte-level vocabulary, sorted by code point."""
    from tokenizers.pre_tokenizers import ByteLevel

    return sorted(ByteLevel.alphabet())


@dataclass
class SmallGguf:
    """A llama of 2 layers, D 64, 4 query and 2 key heads of 16, F 96, and its exact weights."""

    path: Path
    layers: int = 2
    hidden: int = 64
    heads: int = 4
    kv_heads: int = 2
    ffn: int = 96
    architecture: str = "llama"
    pre: str = "smollm"
    model: str = "gpt2"
    types: dict[str, str] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)
    drop: set[str] = field(default_factory=set)
    untied: bool = False
    merges: list[str] = field(default_factory=lambda: ["a b", "Ġ a", "1 2"])
    values: dict[str, NDArray[np.float32]] = field(default_factory=dict)

    @property
    def tokens(self) -> list[str]:
        return [*WORDS, *byte_alphabet(), "ab", "Ġa", "12"]

    def shapes(self) -> dict[str, tuple[int, ...]]:
        D, F, E = self.hidden, self.ffn, self.hidden // self.heads
        keys = self.kv_heads * E
        block = {
            "attn_norm": (D,), "attn_q": (D, D), "attn_k": (keys, D), "attn_v": (keys, D),
            "attn_output": (D, D), "ffn_norm": (D,), "ffn_gate": (F, D), "ffn_up": (F, D),
            "ffn_down": (D, F),
        }  # fmt: skip
        rows: dict[str, tuple[int, ...]] = {
            "token_embd.weight": (len(self.tokens), D),
            "output_norm.weight": (D,),
        }
        if self.untied:
            rows["output.weight"] = (len(self.tokens), D)
        for layer in range(self.layers):
            rows |= {f"blk.{layer}.{part}.weight": shape for part, shape in block.items()}
        return rows

    def write(self) -> Path:
        writer = gguf.GGUFWriter(self.path, self.architecture)
        for key, add, value in self._fields(writer):
            if key not in self.drop:
                add(key, value)
        for key, value in self.extra.items():
            {str: writer.add_string, int: writer.add_uint32, float: writer.add_float32,
             bool: writer.add_bool, list: writer.add_array}[type(value)](key, value)  # fmt: skip
        draw = np.random.default_rng(7)
        for name, shape in self.shapes().items():
            if name in self.drop:
                continue
            values = draw.uniform(-1, 1, shape).astype(np.float32) / math.sqrt(shape[-1])
            self.values[name] = self._add(writer, name, values)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return self.path

    def _add(self, writer: Any, name: str, values: Any) -> NDArray[np.float32]:
        kind = gguf.GGMLQuantizationType[self.types.get(name, "F32")]
        stored = gguf.quants.quantize(values, kind)
        writer.add_tensor(name, stored, raw_dtype=kind)
        return np.asarray(gguf.quants.dequantize(stored, kind), np.float32)

    def _fields(self, writer: Any) -> list[tuple[str, Callable[[str, Any], None], Any]]:
        number, real, text = writer.add_uint32, writer.add_float32, writer.add_string
        types = [3] * len(WORDS) + [1] * (len(self.tokens) - len(WORDS))
        return [
            ("llama.block_count", number, self.layers),
            ("llama.context_length", number, 128),
            ("llama.embedding_length", number, self.hidden),
            ("llama.feed_forward_length", number, self.ffn),
            ("llama.attention.head_count", number, self.heads),
            ("llama.attention.head_count_kv", number, self.kv_heads),
            ("llama.attention.layer_norm_rms_epsilon", real, 1e-5),
            ("llama.rope.freq_base", real, 50000.0),
            ("tokenizer.ggml.model", text, self.model),
            ("tokenizer.ggml.pre", text, self.pre),
            ("tokenizer.ggml.tokens", writer.add_array, self.tokens),
            ("tokenizer.ggml.token_type", writer.add_array, types),
            ("tokenizer.ggml.merges", writer.add_array, self.merges),
            ("tokenizer.ggml.bos_token_id", number, 1),
            ("tokenizer.ggml.eos_token_id", number, 2),
            ("tokenizer.ggml.padding_token_id", number, 2),
            ("tokenizer.ggml.unknown_token_id", number, 0),
            ("tokenizer.chat_template", text, TEMPLATE),
        ]


@pytest.fixture
def small_gguf(tmp_path: Path) -> Callable[..., SmallGguf]:
    """Makes and writes a small GGUF; keywords are the fields of `SmallGguf`."""

    def make(name: str = "small.gguf", **changes: Any) -> SmallGguf:
        file = SmallGguf(tmp_path / name, **changes)
        file.write()
        return file

    return make
