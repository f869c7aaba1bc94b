"""A small Gemma 3 file: two norms more a layer, sliding layers, SentencePiece pieces."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.acquire.conftest import SmallGguf

SPACE = "\u2581"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
#: Piece, kind (1 normal, 3 control, 4 user-defined, 6 byte) and score.
PIECES: list[tuple[str, int, float]] = [
    ("<pad>", 3, -1000.0),
    ("<eos>", 3, -1000.0),
    ("<bos>", 3, -1000.0),
    ("<unk>", 3, -1000.0),
    ("  ", 4, -1000.0),
    ("   ", 4, -1000.0),
    *((byte, 6, -1000.0) for byte in BYTES),
    ("ab", 1, -0.0),
    (f"{SPACE}a", 1, -1.0),
    ("abc", 1, -2.0),
    ("bc", 1, -3.0),
    (SPACE, 1, -4.0),
    ("a", 1, -5.0),
    ("b", 1, -6.0),
    ("c", 1, -7.0),
]


@dataclass
class SmallGemma(SmallGguf):
    """A Gemma 3 of 7 layers, the sixth of which sees all keys."""

    layers: int = 7
    architecture: str = "gemma3"
    head_dim: int = 24
    pieces: tuple[tuple[str, int, float], ...] = tuple(PIECES)
    norm_factor: float = 1.25

    @property
    def tokens(self) -> list[str]:
        return [piece for piece, _, _ in self.pieces]

    def shapes(self) -> dict[str, tuple[int, ...]]:
        D, F, E = self.hidden, self.ffn, self.head_dim
        queries, keys = self.heads * E, self.kv_heads * E
        block = {
            "attn_norm": (D,), "attn_q": (queries, D), "attn_k": (keys, D), "attn_v": (keys, D),
            "attn_q_norm": (E,), "attn_k_norm": (E,), "attn_output": (D, queries),
            "post_attention_norm": (D,), "ffn_norm": (D,), "ffn_gate": (F, D), "ffn_up": (F, D),
            "ffn_down": (D, F), "post_ffw_norm": (D,),
        }  # fmt: skip
        rows: dict[str, tuple[int, ...]] = {
            "token_embd.weight": (len(self.tokens), D),
            "output_norm.weight": (D,),
        }
        for layer in range(self.layers):
            rows |= {f"blk.{layer}.{part}.weight": shape for part, shape in block.items()}
        return rows

    def _add(self, writer: Any, name: str, values: Any) -> NDArray[np.float32]:
        if "norm" in name:
            values = (values + np.float32(self.norm_factor)).astype(np.float32)
        return super()._add(writer, name, values)

    def _fields(self, writer: Any) -> list[tuple[str, Callable[[str, Any], None], Any]]:
        number, real, text = writer.add_uint32, writer.add_float32, writer.add_string
        return [
            ("gemma3.block_count", number, self.layers),
            ("gemma3.context_length", number, 128),
            ("gemma3.embedding_length", number, self.hidden),
            ("gemma3.feed_forward_length", number, self.ffn),
            ("gemma3.attention.head_count", number, self.heads),
            ("gemma3.attention.head_count_kv", number, self.kv_heads),
            ("gemma3.attention.key_length", number, self.head_dim),
            ("gemma3.attention.value_length", number, self.head_dim),
            ("gemma3.attention.sliding_window", number, 16),
            ("gemma3.attention.layer_norm_rms_epsilon", real, 1e-6),
            ("gemma3.rope.freq_base", real, 1000000.0),
            ("tokenizer.ggml.model", text, "llama"),
            ("tokenizer.ggml.pre", text, "default"),
            ("tokenizer.ggml.tokens", writer.add_array, self.tokens),
            ("tokenizer.ggml.scores", writer.add_array, [score for _, _, score in self.pieces]),
            ("tokenizer.ggml.token_type", writer.add_array, [kind for _, kind, _ in self.pieces]),
            ("tokenizer.ggml.bos_token_id", number, 2),
            ("tokenizer.ggml.eos_token_id", number, 1),
            ("tokenizer.ggml.padding_token_id", number, 0),
            ("tokenizer.ggml.unknown_token_id", number, 3),
            ("tokenizer.ggml.add_bos_token", writer.add_bool, True),
            ("tokenizer.ggml.add_space_prefix", writer.add_bool, False),
        ]
