"""The plan of the ledger: which tensors a model must have, checked against those it has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from trlm_lab.base.safetensors_header import TensorInfo
from trlm_lab.errors import (
    TensorDtypeError,
    TensorMissingError,
    TensorShapeError,
    TensorUnknownError,
)


@dataclass(frozen=True)
class ExpectedTensor:
    """A tensor by name, shape and role; `alias_of` names the tensor that stands in when absent."""

    name: str
    shape: tuple[int, ...]
    role: str
    alias_of: str | None = None


def check_tensors(
    expected: tuple[ExpectedTensor, ...], tensors: Iterable[TensorInfo], where: str
) -> None:
    """Every expected tensor is there once, float32, in its shape, and nothing else is.

    Raises:
        TensorMissingError, TensorUnknownError, TensorShapeError, TensorDtypeError.
    """
    found = {tensor.name: tensor for tensor in tensors}
    for plan in expected:
        tensor = found.pop(plan.name, None)
        if tensor is None:
            if plan.alias_of is None:
                raise TensorMissingError(where=where, tensor=plan.name)
            continue
        if tensor.shape != plan.shape:
            raise TensorShapeError(
                where=where, tensor=plan.name, got=list(tensor.shape), wanted=list(plan.shape)
            )
        if tensor.dtype != "F32":
            raise TensorDtypeError(where=where, tensor=plan.name, dtype=tensor.dtype)
    if found:
        raise TensorUnknownError(where=where, tensor=min(found))
