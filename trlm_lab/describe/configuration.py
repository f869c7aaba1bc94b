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
from trlm_lab.describe.directory_check import require_no_stops
from trlm_lab.describe.families import llama
from trlm_lab.describe.ledger_plan import ExpectedTensor, check_tensors
from trlm_lab.describe.receipt import ConflictReceipt
from trlm_lab.describe.resolution import Resolution
from trlm_lab.describe.schema import ClassifiedField, classify
from trlm_lab.describe.weights import SNAPSHOT_DTYPES, own_tensors
from trlm_lab.errors import (
    ConflictError,
    DefaultMissingError,
    FamilyUnsupportedError,
    SourceDisagreesError,
)

_FLOATS = {"rms_norm_eps", "rope_theta", "attention_scale"}
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
    family = documents.config.get("model_type")
    if family != llama.MODEL_TYPE:
        raise FamilyUnsupportedError(where="config.json", family=family, known=llama.MODEL_TYPE)
    stored = own_tensors(root)
    receipt = compare_declarations(documents, defaults, stored, resolutions)
    require_no_stops(receipt)
    classified = classify(documents.config, llama.CONFIG_SCHEMA, "config.json")
    llama.check_relations(documents.config, "config.json")
    classify(documents.generation, llama.GENERATION_SCHEMA, "generation_config.json")
    config = _assembled(documents.config, defaults, receipt)
    tensors = llama.expected_tensors(_sizes(config))
    if stored is not None:
        check_tensors(tensors, stored, SNAPSHOT_DTYPES)
    return Description(config, classified, receipt, tensors)


def _sizes(config: EffectiveConfig) -> llama.Sizes:
    return llama.Sizes(**{f.name: getattr(config, f.name) for f in fields(llama.Sizes)})


def effective_config(snapshot_root: Path, defaults: SourceDefaults) -> EffectiveConfig:
    """The effective configuration of a snapshot. Raises as `describe`."""
    return describe(snapshot_root, defaults).config


def _assembled(
    declared: Mapping[str, Any], defaults: SourceDefaults, receipt: ConflictReceipt
) -> EffectiveConfig:
    names = [f.name for f in fields(EffectiveConfig)]
    row = {name: _value(name, defaults) for name in names if name not in _IDS}
    for name, value in row.items():
        for place, stated in _declared_values(name, declared):
            if not _same(name, stated, value):
                raise SourceDisagreesError(
                    where="config.json", field=place, declared=stated, source=value
                )
    lists = ("rope_inv_freq", "rope_local_inv_freq", "layer_types")
    row |= {name: tuple(row[name]) for name in lists}
    for role in ROLES:
        ids = receipt.chosen_ids.get(role, ())
        # All declarations of one role agree here; only the stop set may have several members.
        row[f"{role}_token_id"] = ids if role == "eos" else _single(role, ids, defaults)
    return EffectiveConfig(**row)


def _value(name: str, defaults: SourceDefaults) -> Any:
    try:
        return defaults[name]
    except KeyError as error:
        raise DefaultMissingError(field=name, framework=defaults.framework) from error


def _declared_values(name: str, declared: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The places of `config.json` that declare a field; null declares nothing."""
    places = [(name, declared.get(name))]
    if name == "rope_theta":
        for key in ("rope_parameters", "rope_scaling"):
            inner = declared.get(key)
            if isinstance(inner, dict):
                places.append((f"{key}.rope_theta", inner.get("rope_theta")))
    return [(place, value) for place, value in places if value is not None]


def _same(name: str, stated: Any, value: Any) -> bool:
    if name in _FLOATS:
        return bool(np.float32(stated) == np.float32(value))
    return bool(stated == value)


def _single(role: str, ids: tuple[int, ...], defaults: SourceDefaults) -> int | None:
    if len(ids) > 1:
        detail = f"{list(ids)} are declared, a model has one {role} token"
        raise ConflictError(where="config.json", codes=f"{role.upper()}_CONFLICT", detail=detail)
    value = ids[0] if ids else _value(f"{role}_token_id", defaults)
    return None if value is None else int(value)
