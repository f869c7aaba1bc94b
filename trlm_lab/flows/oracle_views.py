"""One case in the oracle, as a notebook walks it: every checkpoint in figures, one layer in arrays.

Nothing here is judged. Arrays pass by one at a time; those of one layer are kept.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.interfaces import Subject
from trlm_lab.base.names import is_checkpoint, layer_checkpoint, parse_checkpoint
from trlm_lab.base.records import ArrayDigest, Case, EffectiveConfig, EngineIdentity, Observation
from trlm_lab.cases import random_cases
from trlm_lab.errors import UnknownNameError
from trlm_lab.flows.acquisition import admit_source
from trlm_lab.flows.oracle_drift import chosen_conditions
from trlm_lab.flows.workspace import Workspace
from trlm_lab.metrics.masks import MASKED_OPERATORS, masked_entries
from trlm_lab.traces.statistics import FIGURES, statistics_of

if TYPE_CHECKING:
    from trlm_lab.oracle.drift import OracleDrift

F32 = NDArray[np.float32]

#: The seed of a case that nobody gave.
SEED = 20_261_130
#: Rows and columns of a picture; a larger one is cut, not thinned, so that every pixel is a value.
PICTURE = 96


@dataclass(frozen=True)
class Walk:
    """What the oracle showed of one case; `kept` are the arrays of `layer`."""

    source: str
    root: Path
    config: EffectiveConfig
    case: Case
    engine: EngineIdentity
    layer: int
    rows: list[dict[str, Any]] = field(default_factory=list)
    kept: dict[str, F32] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        source: str,
        token_ids: Sequence[int] = (),
        *,
        tokens: int = 12,
        layer: int = 0,
        dtype: str = "float32",
    ) -> Walk:
        """Run a case on a source: the ids that are given, or `tokens` seeded random ones.

        Raises:
            Refused: the source breaks a rule, or the model cannot be asked this case.
            UnknownNameError: no such layer or dtype.
        """
        from trlm_lab.oracle import TorchRunner

        with tempfile.TemporaryDirectory() as scratch:
            admitted, described = admit_source(Workspace(Path(scratch)), source)
        config, root = described.config, admitted.root
        if not 0 <= layer < config.num_hidden_layers:
            known = f"0 to {config.num_hidden_layers - 1}"
            raise UnknownNameError(kind="layer", name=str(layer), known=known)
        case = Case("given", tuple(token_ids)) if token_ids else _random(config, tokens)
        with TorchRunner(dtype=dtype).open(Subject(model_dir=root)) as session:
            walk = cls(source, root, config, case, session.identity, layer)
            session.observe(case, walk._see)
        return walk

    def _see(self, seen: Observation) -> None:
        if not is_checkpoint(seen.name):
            return
        self.rows.append(_row(seen))
        if parse_checkpoint(seen.name).layer == self.layer:
            self.kept[seen.name] = seen.values.copy()

    def about(self) -> dict[str, Any]:
        """Who ran what."""
        c = self.config
        sliding = c.layer_types.count("sliding_attention")
        return {
            "source": self.source,
            "family": c.model_type,
            "layers": f"{c.num_hidden_layers}, of which {sliding} slide",
            "heads": f"{c.num_attention_heads} of {c.head_dim}, {c.num_key_value_heads} of keys",
            "configuration": c.config_id,
            "engine": self.engine.version,
            "profile": self.engine.profile,
            "case": f"{len(self.case.token_ids)} tokens: {' '.join(map(str, self.case.token_ids))}",
        }

    def nearby(self) -> list[dict[str, Any]]:
        """The rows of the kept layer, and of what stands outside the layers."""
        layers = (None, self.layer)
        return [row for row in self.rows if parse_checkpoint(row["checkpoint"]).layer in layers]

    def pictures(self, head: int = 0) -> dict[str, F32]:
        """Each checkpoint of the kept layer as a matrix, by operator: tokens or queries by
        coordinates or keys, at most 96 of each; of squares one head, masked entries NaN.
        """
        shown = {}
        for name, values in self.kept.items():
            op = parse_checkpoint(name).op
            if op in MASKED_OPERATORS:
                values = np.where(masked_entries(values), np.float32(np.nan), values)
            flat = values[head] if op.startswith("attn_") and values.ndim == 3 else values
            shown[op] = flat.reshape(len(flat), -1)[:PICTURE, :PICTURE]
        return shown

    def attention(self, heads: int = 3) -> dict[str, F32]:
        """The probabilities of the first heads of the kept layer."""
        probs = self.kept[layer_checkpoint(self.layer, "attn_probs")]
        return {f"layer {self.layer}, head {i}": one for i, one in enumerate(probs[:heads])}

    def drift(self, conditions: Sequence[str] = ()) -> OracleDrift:
        """How far the oracle moves by itself on this case; every condition where none is named.

        Raises:
            UnknownNameError: no such condition.
        """
        from trlm_lab.oracle.drift import measure_drift

        return measure_drift(self.root, [self.case], chosen_conditions(conditions))


def _random(config: EffectiveConfig, tokens: int) -> Case:
    return random_cases(config.vocab_size, [tokens], SEED).cases[0]


def _row(seen: Observation) -> dict[str, Any]:
    """The figures of a checkpoint; of masked scores those of the visible entries."""
    point, values = parse_checkpoint(seen.name), seen.values
    visible = values
    if point.op in MASKED_OPERATORS:
        visible = values[~masked_entries(values)]
    named = dict(zip(FIGURES, map(float, statistics_of(visible)), strict=True))
    return {
        "checkpoint": seen.name,
        "axes": " ".join(point.axes),
        "shape": "×".join(map(str, values.shape)),
        "rms": float(np.sqrt(named["sum_squares"] / max(named["count"], 1.0))),
        "min": named["min"],
        "max": named["max"],
        "zeros": int(named["zeros"]),
        "masked": values.size - visible.size,
        "sha256": ArrayDigest.of(seen).sha256[:12],
    }


def spread_rows(drift: OracleDrift) -> list[dict[str, Any]]:
    """One row a condition and checkpoint that moved."""
    return [
        {
            "condition": standing.name,
            "checkpoint": row.checkpoint,
            "differing": row.differing,
            "elements": row.elements,
            "relative": row.relative,
            "max_abs": row.max_abs,
            "max_ulp": row.max_ulp,
        }
        for standing in drift.standings
        for row in standing.spread
        if row.differing and is_checkpoint(row.checkpoint)
    ]
