"""GGUF tensors by architecture: Hugging Face names, row order and float32 values.

For llama the GGUF converter interleaves the two halves of every head of the query and key rows,
since its runtime rotates neighbours; Hugging Face rotates coordinate i with i + E/2. The
permutation is undone here by choosing source rows before they are dequantized. For Gemma it stores
a norm's factor 1 + w, where Hugging Face stores w. Source: the conversions of the ggml project,
checked against a runtime that reads the same file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.acquire.gguf_architecture import GgufArchitecture
from trlm_lab.acquire.gguf_file import GgufFile, GgufTensor
from trlm_lab.acquire.safetensors_writer import CHUNK_ELEMENTS, F32, PlannedTensor
from trlm_lab.errors import GgufTensorError, MissingPackageError
from trlm_lab.quant.ggml import DECODERS

_NAME = re.compile(r"(?:blk\.(?P<layer>0|[1-9][0-9]{0,4})\.)?(?P<part>[a-z_]+)\.weight\Z")


@dataclass(frozen=True)
class TensorOrigin:
    """Where a written tensor comes from: source tensor and ordered transforms."""

    source: GgufTensor
    transforms: tuple[tuple[str, dict[str, Any]], ...]


def hugging_face_name(name: str, kind: GgufArchitecture, layers: int) -> str:
    """The Hugging Face name of a GGUF tensor.

    Raises:
        GgufTensorError: the architecture has no such tensor.
    """
    match = _NAME.match(name)
    if match and match["layer"] is None and match["part"] in kind.top:
        return f"{kind.top[match['part']]}.weight"
    if match and match["layer"] and match["part"] in kind.blocks and int(match["layer"]) < layers:
        return f"model.layers.{match['layer']}.{kind.blocks[match['part']]}.weight"
    detail = f"a {kind.name} of {layers} layers has no such tensor"
    raise GgufTensorError(where=name, detail=detail)


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
    file: GgufFile, kind: GgufArchitecture, layers: int, heads: HeadShape
) -> tuple[dict[str, PlannedTensor], dict[str, TensorOrigin]]:
    """What to write, and where it comes from; both by Hugging Face name.

    Raises:
        GgufTensorError: a tensor of another model, or a query or key matrix that is not of these
            heads.
        MissingPackageError: the package that dequantizes is not installed.
    """
    planned: dict[str, PlannedTensor] = {}
    origins: dict[str, TensorOrigin] = {}
    counts = {"attn_q": heads.queries, "attn_k": heads.keys} if kind.interleaved else {}
    for tensor in file.tensors.values():
        name = hugging_face_name(tensor.name, kind, layers)
        count = counts.get(tensor.name.split(".")[-2])
        order = None if count is None else _row_order(tensor, count, heads.width)
        offset = kind.unit_offset and tensor.name.endswith("norm.weight")
        steps: list[tuple[str, dict[str, Any]]] = []
        if order is not None:
            steps.append(("unpermute_rows", {"heads": count, "from": "interleaved"}))
        if tensor.type_name != "F32":
            steps.append(("dequantize", {"from": tensor.type_name, "to": "F32"}))
        if offset:
            steps.append(("subtract_one", {"because": "the file holds the factor 1 + w"}))
        planned[name] = PlannedTensor(tensor.shape, _Chunks(file, tensor, order, offset))
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
    offset: bool

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
            values = dequantize(np.ascontiguousarray(rows), self.tensor.type_name)
            yield self._without_one(values) if self.offset else values

    def _without_one(self, factors: F32) -> F32:
        """Raises GgufTensorError where 1 + w would not be the stored factor again."""
        one = np.float32(1)
        weights = factors - one
        again = weights + one
        if not np.array_equal(again.view(np.uint32), factors.view(np.uint32)):
            index = int(np.argmax(again.ravel() != factors.ravel()))
            detail = f"the factor {factors.ravel()[index]!r} at {index} is no 1 + w in float32"
            raise GgufTensorError(where=self.tensor.name, detail=detail)
        return weights


def dequantize(rows: NDArray[np.uint8], type_name: str) -> F32:
    """Float32 values of stored rows, shape (rows, columns).

    What has no pinned decoder here is left to the `gguf` package; of the others it gives the bits.

    Raises:
        MissingPackageError: the package that dequantizes the others is not installed.
    """
    if type_name in DECODERS:
        return DECODERS[type_name].decode(rows)
    try:
        from gguf import GGMLQuantizationType, quants
    except ImportError as error:
        raise MissingPackageError(package="gguf", extra="models") from error
    with np.errstate(over="ignore", invalid="ignore"):
        # Non-finite results are refused, with their place, by the writer.
        values = quants.dequantize(rows, GGMLQuantizationType[type_name])
    return np.ascontiguousarray(values, dtype=np.float32)
