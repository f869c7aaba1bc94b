"""The float32 weights of a llama-family directory as an F32 GGUF that llama.cpp loads.

The file holds no tokenizer (`no_vocab`): cases carry ids. Query and key rows are permuted from the
half-split order of Hugging Face to the interleaved order in which llama.cpp rotates the llama
architecture. Everything else is the source's own bits. Source: the architecture's tensor names and
keys in the gguf package, and the row order in llama.cpp's converter for llama models.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.backends.process_files import read_object
from trlm_lab.backends.safetensors_weights import model_dir_tensors
from trlm_lab.base.model_parts import EMBEDDING, FINAL_NORM, HEAD
from trlm_lab.errors import ModelFilesError, UnsupportedModelError

#: Modules of a layer to their names in the llama architecture, behind `blk.{i}.`.
GGUF_TENSORS: dict[str, str] = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}

#: Fields of config.json that would change the result and that the export does not carry over.
MUST_BE_ABSENT = ("attention_bias", "mlp_bias", "rope_scaling", "sliding_window")


@dataclass(frozen=True)
class LlamaKeys:
    """What the GGUF needs of a `config.json`."""

    vocab: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    context: int
    theta: float
    epsilon: float
    tied: bool

    @classmethod
    def read(cls, model_dir: Path) -> LlamaKeys:
        """From the `config.json` of a model directory.

        Raises:
            ModelFilesError: missing or ill-typed fields.
            UnsupportedModelError: another family, or a field that the export does not carry over.
        """
        path = model_dir / "config.json"

        def refusal(detail: str) -> ModelFilesError:
            return ModelFilesError(where=str(path), detail=detail)

        row = read_object(path.resolve(), refusal)
        unsupported = _unsupported(row)
        if unsupported:
            raise UnsupportedModelError(where=str(path), detail=unsupported)
        try:
            return cls._of(row)
        except (KeyError, TypeError, ValueError) as error:
            raise refusal(f"a field is missing or ill-typed: {error}") from error

    @classmethod
    def _of(cls, row: dict[str, Any]) -> LlamaKeys:
        rope = row.get("rope_parameters") or {}
        heads = int(row["num_attention_heads"])
        return cls(
            vocab=int(row["vocab_size"]),
            hidden=int(row["hidden_size"]),
            layers=int(row["num_hidden_layers"]),
            heads=heads,
            kv_heads=int(row.get("num_key_value_heads") or heads),
            head_dim=int(row.get("head_dim") or int(row["hidden_size"]) // heads),
            ffn=int(row["intermediate_size"]),
            context=int(row["max_position_embeddings"]),
            theta=float(row.get("rope_theta") or rope["rope_theta"]),
            epsilon=float(row["rms_norm_eps"]),
            tied=bool(row.get("tie_word_embeddings", False)),
        )


def _unsupported(row: dict[str, Any]) -> str | None:
    if row.get("model_type") != "llama":
        return f"the export knows the family llama, not {row.get('model_type')!r}"
    rope = row.get("rope_parameters") or {}
    if not isinstance(rope, dict) or rope.get("rope_type", "default") != "default":
        return f"rope_parameters is {rope!r:.80}"
    present = [name for name in MUST_BE_ABSENT if row.get(name)]
    return f"{present[0]} is {row[present[0]]!r:.80}" if present else None


def interleaved_rows(weight: NDArray[Any], heads: int) -> NDArray[Any]:
    """Rows of (heads, 2, E/2) reordered to (heads, E/2, 2): half-split pairs become neighbours."""
    rows, columns = weight.shape
    split = weight.reshape(heads, 2, rows // heads // 2, columns)
    return np.ascontiguousarray(split.swapaxes(1, 2).reshape(rows, columns))


def _gguf_tensors(model_dir: Path, keys: LlamaKeys) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Names and float32 values of the GGUF, in its order."""
    tensors = model_dir_tensors(model_dir)

    def tensor(name: str) -> NDArray[np.float32]:
        if name not in tensors:
            detail = f"the tensor {name!r} is missing"
            raise ModelFilesError(where=str(model_dir), detail=detail)
        return np.asarray(tensors[name][:], dtype=np.float32)

    yield "token_embd.weight", tensor(EMBEDDING)
    yield "output_norm.weight", tensor(FINAL_NORM)
    if not keys.tied:
        yield "output.weight", tensor(HEAD)
    turned = {"attn_q": keys.heads, "attn_k": keys.kv_heads}
    for layer in range(keys.layers):
        for module, name in GGUF_TENSORS.items():
            values = tensor(f"model.layers.{layer}.{module}.weight")
            values = interleaved_rows(values, turned[name]) if name in turned else values
            yield f"blk.{layer}.{name}.weight", values


def write_gguf(model_dir: Path, out: Path) -> None:
    """Write the F32 GGUF of a llama-family model directory; one tensor in memory at a time.

    Raises:
        ModelFilesError, UnsupportedModelError: the directory is no plain llama.
    """
    import gguf

    keys = LlamaKeys.read(model_dir)
    writer = gguf.GGUFWriter(out, "llama")
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    _add_keys(writer, keys)
    writer.add_tokenizer_model("no_vocab")
    for name, values in _gguf_tensors(model_dir, keys):
        writer.add_tensor_info(name, values.shape, values.dtype, values.nbytes)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for _, values in _gguf_tensors(model_dir, keys):
        writer.write_tensor_data(values)
    writer.close()


def _add_keys(writer: Any, keys: LlamaKeys) -> None:
    writer.add_vocab_size(keys.vocab)
    writer.add_context_length(keys.context)
    writer.add_embedding_length(keys.hidden)
    writer.add_block_count(keys.layers)
    writer.add_feed_forward_length(keys.ffn)
    writer.add_head_count(keys.heads)
    writer.add_head_count_kv(keys.kv_heads)
    writer.add_key_length(keys.head_dim)
    writer.add_value_length(keys.head_dim)
    writer.add_rope_dimension_count(keys.head_dim)
    writer.add_rope_freq_base(keys.theta)
    writer.add_layer_norm_rms_eps(keys.epsilon)
