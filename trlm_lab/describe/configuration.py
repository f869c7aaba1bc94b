"""From declarations and the source's own defaults to the effective configuration.

Nothing is computed here. Every value comes from the source framework, by way of SourceDefaults, and
is compared with what the files declare. Special ids are those on which all files agree; where no
file declares one, the source's own value stands, except for the stop set, which must be declared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from trlm_lab.base.records import EffectiveConfig, SourceDefaults
from trlm_lab.describe.conflicts import compare_declarations
from trlm_lab.describe.declarations import ROLES, read_documents
from trlm_lab.describe.directory_check import (
    check_documents,
    family_of,
    require_no_stops,
    unsupported,
)
from trlm_lab.describe.families import FAMILIES, Family
from trlm_lab.describe.ledger_plan import ExpectedTensor, check_tensors, expected_tensors
from trlm_lab.describe.receipt import ConflictReceipt
from trlm_lab.describe.resolution import Resolution
from trlm_lab.describe.schema import ClassifiedField, Stated, stated
from trlm_lab.describe.weights import SNAPSHOT_DTYPES, own_tensors
from trlm_lab.errors import (
    ConflictError,
    DefaultMissingError,
    FamilyUnsupportedError,
    SourceDisagreesError,
)

_LISTS = ("rope_inv_freq", "rope_local_inv_freq", "layer_types")
_IDS = {f"{role}_token_id" for role in ROLES}


@dataclass(frozen=True)
class Description:
    """A described model: configuration, the classification of every key, receipt, tensor plan."""

    config: EffectiveConfig
    classified: tuple[ClassifiedField, ...]
    receipt: ConflictReceipt
    tensors: tuple[ExpectedTensor, ...]


def describe(
    root: Path, defaults: SourceDefaults, resolutions: Sequence[Resolution] = ()
) -> Description:
    """Check a model directory and assemble its effective configuration.

    `resolutions` settle the conflicts that they name; any other stops.

    Raises:
        FamilyUnsupportedError: no schema for this family.
        UnknownFieldError, FieldValueError: a key or value that the schema does not know.
        ConflictError: the declarations contradict each other.
        ResolutionUnmatchedError, ResolutionValueError: a resolution settles nothing.
        DefaultMissingError, SourceDisagreesError: the source's values are incomplete, or differ
            from the declared ones.
        TensorMissingError, TensorUnknownError, TensorShapeError, TensorDtypeError: the weights
            are not those of the configuration.
    """
    documents = read_documents(root)
    family = family_of(documents)
    if family is None:
        raise unsupported(documents)
    stored = own_tensors(root)
    receipt = compare_declarations(documents, defaults, stored, resolutions)
    require_no_stops(receipt)
    classified = check_documents(documents, family)
    config = _assembled(documents.config, family, defaults, receipt)
    tensors = expected_tensors(config, stored or ())
    if stored is not None:
        check_tensors(tensors, stored, SNAPSHOT_DTYPES)
    return Description(config, classified, receipt, tensors)


def effective_config(snapshot_root: Path, defaults: SourceDefaults) -> EffectiveConfig:
    """The effective configuration of a snapshot. Raises as `describe`."""
    return describe(snapshot_root, defaults).config


def class_contradictions(config: EffectiveConfig) -> list[SourceDisagreesError]:
    """Where an effective configuration says another thing than the class of its family fixes.

    Raises:
        FamilyUnsupportedError: no schema for this family.
    """
    family = FAMILIES.get(config.model_type)
    if family is None:
        known = ", ".join(sorted(FAMILIES))
        raise FamilyUnsupportedError(where="config", family=config.model_type, known=known)
    return [
        SourceDisagreesError(
            where="config", field=name, declared=getattr(config, name), source=value
        )
        for name, value in family.fixed.items()
        if not _same(value, getattr(config, name))
    ]


def _assembled(
    declared: Mapping[str, Any], family: Family, defaults: SourceDefaults, receipt: ConflictReceipt
) -> EffectiveConfig:
    names = [f.name for f in fields(EffectiveConfig)]
    row = {name: _value(name, defaults) for name in names if name not in _IDS}
    _compare(_asked(declared, family), row)
    row |= {name: tuple(row[name]) for name in _LISTS}
    for role in ROLES:
        ids = receipt.chosen_ids.get(role, ())
        # All declarations of one role agree here; only the stop set may have several members.
        row[f"{role}_token_id"] = ids if role == "eos" else _single(role, ids, defaults)
    return EffectiveConfig(**row)


def _asked(declared: Mapping[str, Any], family: Family) -> list[Stated]:
    """What the keys ask for, then what the family's class fixes."""
    fixed = [Stated(f"the class {family.architecture}", *item) for item in family.fixed.items()]
    return [*stated(declared, family.schema), *fixed]


def _compare(asked: list[Stated], row: Mapping[str, Any]) -> None:
    """Raise SourceDisagreesError where the source does another thing than is asked for."""
    pairs = {"rotary_pairs": len(row["rope_inv_freq"])}
    for one in asked:
        if one.field == "window_if_any":
            value = one.value if row["sliding_window"] is None else row["sliding_window"]
        else:
            value = pairs.get(one.field, row.get(one.field))
        if not _same(one.value, value):
            place = one.key if one.key == one.field else f"{one.key} ({one.field})"
            raise SourceDisagreesError(
                where="config.json", field=place, declared=one.value, source=value
            )


def _value(name: str, defaults: SourceDefaults) -> Any:
    try:
        return defaults[name]
    except KeyError as error:
        raise DefaultMissingError(field=name, framework=defaults.framework) from error


def _same(stated: Any, value: Any) -> bool:
    """Floats are compared as the source uses them, as float32."""
    if isinstance(value, float) and type(stated) in (int, float):
        return bool(np.float32(stated) == np.float32(value))
    return bool(stated == (list(value) if isinstance(value, tuple) else value))


def _single(role: str, ids: tuple[int, ...], defaults: SourceDefaults) -> int | None:
    if len(ids) > 1:
        detail = f"{list(ids)} are declared, a model has one {role} token"
        raise ConflictError(where="config.json", codes=f"{role.upper()}_CONFLICT", detail=detail)
    value = ids[0] if ids else _value(f"{role}_token_id", defaults)
    return None if value is None else int(value)
