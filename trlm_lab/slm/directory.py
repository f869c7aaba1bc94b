"""The tensor directory as a whole: names, aliases, order and disjointness of the payloads."""

from __future__ import annotations

from trlm_lab.errors import (
    SlmAliasError,
    SlmFlagError,
    SlmOverlapError,
    SlmStringError,
    SlmTensorSetError,
)
from trlm_lab.slm.descriptors import Row, TensorDesc, check_row
from trlm_lab.slm.header import Header
from trlm_lab.slm.layout import NO_ALIAS, TENSOR_DESC
from trlm_lab.slm.numbers import DType, Layout, Role, TensorFlag
from trlm_lab.slm.planes import PLANE_RULES
from trlm_lab.slm.residuals import SUFFIX
from trlm_lab.slm.window import Window


def read_directory(
    window: Window, header: Header, strings: tuple[str, ...]
) -> tuple[TensorDesc, ...]:
    """All descriptors, each checked alone and then against its neighbours.

    Raises:
        SlmError: one class per broken rule, see `check_row` and the checks below.
    """
    rows = [
        Row(window, header.tensor_dir_off + i * TENSOR_DESC.size, i)
        for i in range(header.tensor_count)
    ]
    for row in rows:
        check_row(row, header)
    _check_names(window, header, rows, strings)
    _check_body(window, header, rows)
    for row in rows:
        _check_alias(row, rows)
        _check_base(row, rows, strings)
        _check_tied(row, rows)
    return tuple(row.desc for row in rows)


def _check_names(window: Window, header: Header, rows: list[Row], strings: tuple[str, ...]) -> None:
    for row in rows:
        if row.desc.name_id >= len(strings):
            row.refuse(SlmStringError, "name_id", f"below {len(strings)}")
    seen: set[int] = set()
    for row in rows:
        name_id = row.desc.name_id
        if name_id in seen:
            row.refuse(SlmTensorSetError, "name_id", "a name of its own", repr(strings[name_id]))
        seen.add(name_id)
    if not any(row.desc.layout == Layout.dense for row in rows):
        raise SlmTensorSetError(
            where=window.at(header.tensor_dir_off),
            field="the directory",
            got="no dense tensor",
            expected="at least one",
        )


def _check_body(window: Window, header: Header, rows: list[Row]) -> None:
    """Payloads stand in directory order, data then scales, zeros between, and fill the body."""
    gaps, at = [], header.body_off
    for row in rows:
        for off, length in (("data_off", "data_len"), ("aux_off", "aux_len")):
            start, size = getattr(row.desc, off), getattr(row.desc, length)
            if size == 0:
                continue
            if start < at:
                row.refuse(SlmOverlapError, off, at)
            gaps.append((f"the padding before tensor {row.index} {off}", at, start))
            at = start + size
    for gap in [*gaps, ("the padding at the end", at, header.artifact_len)]:
        window.check_zero(*gap)


def _check_alias(row: Row, rows: list[Row]) -> None:
    if row.desc.layout != Layout.alias:
        return
    target_id = row.desc.alias_of
    if target_id >= len(rows):
        got = "none" if target_id == NO_ALIAS else target_id
        row.refuse(SlmAliasError, "alias_of", f"a tensor below {len(rows)}", got)
    target = rows[target_id].desc
    if target.layout != Layout.dense:
        row.refuse(SlmAliasError, "alias_of", "a dense tensor", f"{target_id}, itself no payload")
    for name in ("dtype", "rank", "dims", "logical_nbytes", "sha256_trunc128"):
        row.expect(name, getattr(target, name), SlmAliasError)


def _check_base(row: Row, rows: list[Row], strings: tuple[str, ...]) -> None:
    """A residual has dimensions and role of a dense, grouped tensor and is named after it."""
    if row.desc.layout != Layout.sparse_residual:
        return
    if row.desc.alias_of >= len(rows):
        row.refuse(SlmAliasError, "alias_of", f"a tensor below {len(rows)}")
    base = rows[row.desc.alias_of].desc
    if base.layout != Layout.dense or not PLANE_RULES[DType(base.dtype)].group:
        got = f"{row.desc.alias_of}, another"
        row.refuse(SlmAliasError, "alias_of", "a dense tensor of codes", got)
    for name in ("rank", "dims", "role"):
        row.expect(name, getattr(base, name), SlmAliasError)
    named = strings[base.name_id] + SUFFIX
    if strings[row.desc.name_id] != named:
        row.refuse(SlmAliasError, "name_id", repr(named), repr(strings[row.desc.name_id]))


def _check_tied(row: Row, rows: list[Row]) -> None:
    """The flag `tied` marks exactly a head that aliases the embedding."""
    desc = row.desc
    is_alias = desc.layout == Layout.alias
    tied_head = (
        is_alias and desc.role == Role.lm_head and rows[desc.alias_of].desc.role == Role.embedding
    )
    if bool(desc.flags & TensorFlag.tied) != tied_head:
        wanted = "set" if tied_head else "clear"
        row.refuse(SlmFlagError, "flags", f"tied {wanted}: it marks a head aliasing the embedding")
