"""Every field that the source's configuration class of a family knows, with its default.

A closed schema of a family is held against this list: a version of transformers that adds, renames
or drops a field, or changes a default, differs from it at once. A class may read names that it
does not declare (Qwen2, OLMo 2 and Phi-3 read a `head_dim` that a file has); those no list shows.
"""

from __future__ import annotations

import dataclasses
import inspect
from dataclasses import dataclass
from typing import Any

from trlm_lab.errors import UnknownNameError
from trlm_lab.oracle.families import FAMILIES
from trlm_lab.oracle.loading import quiet_framework


@dataclass(frozen=True)
class ConfigField:
    """A field: its name in `config.json`, the annotation, and the default as JSON has it.

    `defined_in` is the class that declares it: the family's own, or one that all families share.
    `also` is the name that other families use for it, where the class maps one to the other.
    """

    name: str
    annotation: str
    default: Any
    defined_in: str
    also: str | None = None


def config_fields(model_type: str) -> tuple[ConfigField, ...]:
    """The fields of the family's configuration class, sorted by name.

    Raises:
        UnknownNameError: no family has this `model_type`.
        OracleMissingError: torch or transformers is not installed.
    """
    if model_type not in FAMILIES:
        raise UnknownNameError(kind="family", name=model_type, known=", ".join(FAMILIES))
    with quiet_framework() as transformers:
        kind = getattr(transformers, FAMILIES[model_type].config_class)
        mapped = {own: shared for shared, own in kind.attribute_map.items()}
        rows = [
            ConfigField(
                name=field.name,
                annotation=field.type if isinstance(field.type, str) else _text(field.type),
                default=_default(field),
                defined_in=_owner(kind, field.name),
                also=mapped.get(field.name),
            )
            for field in dataclasses.fields(kind)
        ]
    return tuple(sorted(rows, key=lambda row: row.name))


def _text(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    return None if field.default_factory is dataclasses.MISSING else field.default_factory()


def _owner(kind: type, name: str) -> str:
    """The most derived class that annotates the field."""
    return next(c.__name__ for c in kind.__mro__ if name in inspect.get_annotations(c))
