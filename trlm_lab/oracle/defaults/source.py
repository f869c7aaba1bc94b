"""A model of the source without weights: its modules by part, and the place of a line of theirs."""

from __future__ import annotations

import inspect
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from trlm_lab.base import strict_json
from trlm_lab.errors import CaptureError, OracleModelError
from trlm_lab.oracle.environment import package_version

#: Name of a value, the value, and its origin.
Row = tuple[str, Any, str]

#: The family's own name of a field, where it is not the one that the others use.
_OTHER_NAMES = {
    "hidden_act": ("hidden_activation", "activation_function"),
    "intermediate_size": ("n_inner",),
    "attention_scale": ("query_pre_attn_scalar",),
}


class Source:
    """Modules of an empty model, by part. `first` is the first layer."""

    def __init__(self, model_dir: Path, config: Any, model: Any) -> None:
        self.config, self.model, self.base = config, model, model.base_model
        self.module = sys.modules[type(model).__module__]
        self.declared = strict_json.load_object(model_dir / "config.json")
        self.layers: list[Any] = list(getattr(self.base, "layers", None) or self.base.h)
        self.first = self.layers[0]
        self.attention, self.mlp = attention_of(self.first), self.first.mlp
        self.embedding = model.get_input_embeddings()
        self._where = str(model_dir / "config.json")
        self._version = package_version("transformers")

    def refuse(self, detail: str) -> OracleModelError:
        """The error for a model that no effective configuration can say."""
        return OracleModelError(where=self._where, detail=detail)

    def same(self, name: str, values: list[Any]) -> Any:
        """The one value that all layers or projections have. Raises OracleModelError."""
        if any(value != values[0] for value in values):
            raise self.refuse(f"{name} differs: {values}")
        return values[0]

    def says(self, thing: Any, text: str) -> bool:
        """Whether a line of the source of `thing` holds `text`."""
        return any(text in line for line in _source_lines(thing)[0])

    def place(self, thing: Any, *texts: str) -> str:
        """File and line, inside the source of `thing`, of the first text that a line holds.

        Raises:
            CaptureError: no line does; the source is not the one this was written for.
        """
        lines, first = _source_lines(thing)
        path = Path(inspect.getsourcefile(thing) or "")
        for text in texts:
            for number, line in enumerate(lines, first):
                if text in line:
                    # The package's own name is the last of this name on the path.
                    parts = path.parts[len(path.parts) - path.parts[::-1].index("transformers") :]
                    return f"transformers/{'/'.join(parts)}:{number} (transformers {self._version})"
        detail = f"its source no longer holds {' or '.join(map(repr, texts))}"
        raise CaptureError(where=thing.__qualname__, detail=detail)

    def origin(self, name: str, thing: Any, *texts: str) -> str:
        """Who supplied the value, and the line that uses it."""
        supplier = "config.json" if self._is_given(name) else "source default"
        return f"{supplier}; {self.place(thing, *texts)}"

    def _is_given(self, name: str) -> bool:
        rope = self.declared.get("rope_parameters") or self.declared.get("rope_scaling") or {}
        # Gemma 3 has one map of parameters for each kind of layer.
        if name == "rope_local_base_freq" and rope.get("sliding_attention"):
            return "rope_theta" in rope["sliding_attention"]
        mapped = getattr(self.config, "attribute_map", {}).get(name, name)
        names = (name, mapped, *_OTHER_NAMES.get(name, ()))
        tables = (self.declared, rope, rope.get("full_attention") or {})
        return any(table.get(key) is not None for table in tables for key in names)


@cache
def _source_lines(thing: Any) -> tuple[list[str], int]:
    """Lines of a class or function, and the number of the first; finding a class takes a parse."""
    return inspect.getsourcelines(thing)


def attention_of(layer: Any) -> Any:
    """The attention module of a layer."""
    return layer.attn if hasattr(layer, "attn") else layer.self_attn


def float32(value: float) -> float:
    """The float32 value, as torch makes it of a Python float beside a float32 tensor."""
    return float(np.float32(value))
