"""Whether the tensors are those of the configuration: names, roles, shapes, the tied head."""

from __future__ import annotations

from typing import Any, NoReturn

from trlm_lab.base.model_parts import EMBEDDING, HEAD, ModelTensor, model_tensors
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.errors import RecordError, SlmConfigError, SlmModelError
from trlm_lab.slm.layout import TENSOR_DESC
from trlm_lab.slm.read import SlmFile, SlmTensor


def effective_config(slm: SlmFile) -> EffectiveConfig:
    """The configuration with every field of its type and in its range.

    Raises:
        SlmConfigError: a field that is missing, unknown, ill-typed, out of range, or contradicts
            another.
    """
    place = f"{slm.where or 'buffer'}: byte {slm.header.config_off}"
    try:
        return EffectiveConfig.from_map(slm.config)
    except RecordError as error:
        raise SlmConfigError(
            where=place, field=error.where, got=error.detail, expected="an effective configuration"
        ) from error


def check_model(slm: SlmFile, config: EffectiveConfig) -> None:
    """Every tensor that the configuration asks for, and no other; residuals belong to their bases.

    Raises:
        SlmModelError: one that is missing or not asked for, of another role or shape; an alias
            where the head is not tied, or a tied head that is none.
    """
    wanted = {tensor.name: tensor for tensor in model_tensors(config)}
    for index, tensor in enumerate(slm.tensors):
        if tensor.residual_of is None:
            place = f"{slm.where or 'buffer'}: byte {_row_at(slm, index)}"
            _check_tensor(place, tensor, wanted.pop(tensor.name, None), config)
    if wanted:
        place = f"{slm.where or 'buffer'}: byte {slm.header.tensor_dir_off}"
        _refuse(place, f"tensor {next(iter(wanted))}", "absent", "there")


def _row_at(slm: SlmFile, index: int) -> int:
    return slm.header.tensor_dir_off + index * TENSOR_DESC.size


def _check_tensor(
    place: str, tensor: SlmTensor, wanted: ModelTensor | None, config: EffectiveConfig
) -> None:
    named = f"tensor {tensor.name}"
    if wanted is None:
        _refuse(place, named, "there", "only tensors that the configuration asks for")
    target = EMBEDDING if wanted.name == HEAD and config.tie_word_embeddings else None
    for what, got, expected in (
        ("role", tensor.role.name, wanted.role),
        ("shape", tensor.dims, wanted.shape),
        ("alias_of", tensor.alias_of, target),
    ):
        if got != expected:
            _refuse(place, f"{named} {what}", got, expected)


def _refuse(place: str, field: str, got: Any, expected: Any) -> NoReturn:
    raise SlmModelError(where=place, field=field, got=got, expected=expected)
