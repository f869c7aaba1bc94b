"""The plan of the ledger: which tensors a model must have, checked against those it has."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from trlm_lab.base.model_parts import EMBEDDING, HEAD, model_tensors
from trlm_lab.base.model_shape import ModelShape
from trlm_lab.base.safetensors_header import StoredTensor
from trlm_lab.base.source_tensors import stored_sources
from trlm_lab.errors import (
    TensorDtypeError,
    TensorMissingError,
    TensorShapeError,
    TensorUnknownError,
    TrlmError,
)

#: Of a whole missing layer the first tensors are named, not all.
_MOST_NAMED = 20


@dataclass(frozen=True)
class ExpectedTensor:
    """A tensor by name, shape and role; `alias_of` names the tensor that stands in when absent."""

    name: str
    shape: tuple[int, ...]
    role: str
    alias_of: str | None = None


def expected_tensors(shape: ModelShape, names: Collection[str] = ()) -> tuple[ExpectedTensor, ...]:
    """The tensors of a source in forward order, by the names that it has where it has a choice.

    The role of a joined tensor names those of its parts; a tensor that the framework leaves aside
    is expected only where `names` has it, and its role is `left aside`.
    """
    roles = {tensor.name: tensor.role for tensor in model_tensors(shape)}
    sources = stored_sources(shape, names)
    origin = {part.destination: source.name for source in sources for part in source.parts}
    rows = []
    for source in sources:
        made = [part.destination for part in source.parts]
        tied = HEAD in made and shape.tie_word_embeddings
        role = "+".join(roles[name] for name in made) or "left aside"
        alias = origin[EMBEDDING] if tied else None
        rows.append(ExpectedTensor(source.name, source.shape, role, alias))
    return tuple(rows)


def check_tensors(
    expected: tuple[ExpectedTensor, ...],
    tensors: Mapping[str, StoredTensor],
    dtypes: frozenset[str],
) -> None:
    """Every expected tensor is there once, of an allowed type, in its shape, and nothing else is.

    Raises:
        TensorMissingError, TensorUnknownError, TensorShapeError, TensorDtypeError.
    """
    for problem in tensor_problems(expected, tensors, dtypes):
        raise problem


def tensor_problems(
    expected: tuple[ExpectedTensor, ...],
    tensors: Mapping[str, StoredTensor],
    dtypes: frozenset[str],
) -> list[TrlmError]:
    """Every broken rule of `check_tensors`, at most 20 of them."""
    problems: list[TrlmError] = []
    for plan in expected:
        stored = tensors.get(plan.name)
        if stored is not None:
            problems += _stored_problems(plan, stored, dtypes)
        elif plan.alias_of is None:
            problems.append(TensorMissingError(where="model.safetensors", tensor=plan.name))
    wanted = {plan.name for plan in expected}
    problems += unknown_tensors(tensors, wanted.__contains__)
    return problems[:_MOST_NAMED]


def unknown_tensors(
    tensors: Mapping[str, StoredTensor], known: Callable[[str], bool]
) -> list[TrlmError]:
    """The stored tensors whose names the family does not have, at most 20 of them."""
    strange = sorted(name for name in tensors if not known(name))[:_MOST_NAMED]
    return [
        TensorUnknownError(where=tensors[name].path.name, tensor=name[:200]) for name in strange
    ]


def _stored_problems(
    plan: ExpectedTensor, stored: StoredTensor, dtypes: frozenset[str]
) -> list[TrlmError]:
    where, info = stored.path.name, stored.info
    problems: list[TrlmError] = []
    if info.shape != plan.shape:
        problems.append(
            TensorShapeError(
                where=where, tensor=plan.name, got=list(info.shape[:16]), wanted=list(plan.shape)
            )
        )
    if info.dtype not in dtypes:
        problems.append(TensorDtypeError(where=where, tensor=plan.name, dtype=info.dtype))
    return problems
