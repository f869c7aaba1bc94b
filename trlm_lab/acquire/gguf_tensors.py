"""GGUF tensors of the llama architecture: Hugging Face names, row order and float32 values.

The GGUF converter interleaves the two halves of every head of the query and key rows, since its
runtime rotates neighbours; Hugging Face rotates coordinate i with i + E/2. The permutation is
undone here by choosing source rows before they are dequantized. Source: the interleaving in the
llama conversion of the ggml project, checked against a runtime that reads the same file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.acquire.gguf_file import GgufFile, GgufTensor
from trlm_lab.acquire.safetensors_writer import CHUNK_ELEMENTS, F32, PlannedTensor
from trlm_lab.errors import GgufTensorError, MissingPackageError

_TOP = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_BLOCK = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_BLOCK_NAME = re.compile(r"blk\.(0|[1-9][0-9]{0,4})\.([a-z_]+)\.weight\Z")


@dataclass(frozen=True)
class TensorOrigin:
    """Where a written tensor comes from: source tensor and ordered transforms."""

    source: GgufTensor
    transforms: tuple[tuple[str, dict[str, Any]], ...]


def hugging_face_name(name: str, layers: int) -> str:
    """The Hugging Face name of a GGUF tensor.

    Raises:
        GgufTensorError: the llama architecture has no such tensor.
    """
    if name in _TOP:
        return _TOP[name]
    match = _BLOCK_NAME.match(name)
    if match and match[2] in _BLOCK and int(match[1]) < layers:
        return f"model.layers.{match[1]}.{_BLOCK[match[2]]}.weight"
    raise GgufTensorError(where=name, detail=f"a llama of {layers} layers has no such tensor")


def source_rows(heads: int, head_dim: int) -> NDArray[np.int64]:
    """For each Hugging Face row of Q or K, the GGUF row that holds it; shape (heads * head_dim,).

    Within a head, GGUF row 2i + s is Hugging Face row s * E/2 + i, for s in {0, 1}.
    """
    within = np.arange(head_dim).reshape(head_dim // 2, 2).T.reshape(-1)
    return (np.arange(heads)[:, None] * head_dim + within).reshape(-1)


@dataclass(frozen=True)
class HeadShape:
    """Query heads, key/value heads, and the width of each; the width is even."""

    queries: int
    keys: int
    width: int


def planned_tensors(
    file: GgufFile, layers: int, heads: HeadShape
) -> tuple[dict[str, PlannedTensor], dict[str, TensorOrigin]]:
    """What to write, and where it comes from; both by Hugging Face name.

    Raises:
        GgufTensorError: a tensor of no llama, or a query or key matrix that is not of these heads.
        MissingPackageError: the package that dequantizes is not installed.
    """
    planned: dict[str, PlannedTensor] = {}
    origins: dict[str, TensorOrigin] = {}
    for tensor in file.tensors.values():
        name = hugging_face_name(tensor.name, layers)
        count = {"attn_q": heads.queries, "attn_k": heads.keys}.get(tensor.name.split(".")[-2])
        order = None if count is None else _row_order(tensor, count, heads.width)
        steps: list[tuple[str, dict[str, Any]]] = []
        if order is not None:
            steps.append(("unpermute_rows", {"heads": count, "from": "interleaved"}))
        if tensor.type_name != "F32":
            steps.append(("dequantize", {"from": tensor.type_name, "to": "F32"}))
        planned[name] = PlannedTensor(tensor.shape, _Chunks(file, tensor, order))
        origins[name] = TensorOrigin(tensor, tuple(steps))
    return planned, origins


def _row_order(tensor: GgufTensor, heads: int, width: int) -> NDArray[np.int64]:
    """The order of `source_rows`; a matrix of other heads is never put into it."""
    if len(tensor.shape) != 2 or tensor.shape[0] != heads * width:
        detail = f"{list(tensor.shape)} are not the rows of {heads} heads of width {width}"
        raise GgufTensorError(where=tensor.name, detail=detail)
    return source_rows(heads, width)


@dataclass(frozen=True)
class _Chunks:
    """Yields the float32 rows of one tensor in the wanted order, some rows at a time."""

    file: GgufFile
    tensor: GgufTensor
    order: NDArray[np.int64] | None

    def __call__(self) -> Iterator[F32]:
        name, count = self.tensor.name, self.file.row_count(self.tensor.name)
        step = max(1, CHUNK_ELEMENTS * count // math.prod(self.tensor.shape))
        for first in range(0, count, step):
            last = min(first + step, count)
            if self.order is None:
                rows = self.file.read_rows(name, first, last)
            else:
                # Rows move within their head only, so the span is little longer than the chunk.
                chosen = self.order[first:last]
                low = int(chosen.min())
                rows = self.file.read_rows(name, low, int(chosen.max()) + 1)[chosen - low]
            yield dequantize(np.ascontiguousarray(rows), self.tensor.type_name)


def dequantize(rows: NDArray[np.uint8], type_name: str) -> F32:
    """Float32 values of stored rows, shape (rows, columns).

    Raises:
        MissingPackageError: the package that dequantizes is not installed.
    """
    try:
        from gguf import GGMLQuantizationType, quants
    except ImportError as error:
        raise MissingPackageError(package="gguf", extra="models") from error
    with np.errstate(over="ignore", invalid="ignore"):
        # Non-finite results are refused, with their place, by the writer.
        values = quants.dequantize(rows, GGMLQuantizationType[type_name])
    return np.ascontiguousarray(values, dtype=np.float32)
