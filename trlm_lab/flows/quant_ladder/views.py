"""Rows behind the figures of the ladder: an element's steps, a tensor's errors, a model's cost."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.backends.reference import Plant, ReferenceRunner
from trlm_lab.backends.weights import Weights
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.model_parts import HEAD, model_tensors
from trlm_lab.base.records import Case, EffectiveConfig
from trlm_lab.cases import random_cases
from trlm_lab.flows.acquisition import admit_source
from trlm_lab.flows.quant_ladder.climb import SEED, Ladder
from trlm_lab.flows.workspace import Workspace
from trlm_lab.metrics import position_figures
from trlm_lab.ops.arithmetic import Array
from trlm_lab.ops.matmul import RowBlocks
from trlm_lab.pack.profiles import PROFILES, PackProfile
from trlm_lab.pack.source import Part, Sources, open_sources, widened
from trlm_lab.rungs import scale_values
from trlm_lab.slm.numbers import DType, Role
from trlm_lab.slm.planes import planes_of

F32 = NDArray[np.float32]
Row = dict[str, Any]

#: Rows and columns of a map; a larger tensor is cut, not thinned.
MAP = 128


def waterfall_steps(ladder: Ladder, column: int) -> list[Row]:
    """One weight in steps of its group's stored scale, behind each step of its quantization.

    The ratio; rounded to the nearest code; saturated; and the dequantized weight, whose product
    is rounded once.
    """
    ladder.subject.require_column(column)
    storage = ladder.subject.stored.storage
    weight, stored = (float(_one(ladder, name, column)) for name in ("semantic", "dequantized"))
    if storage.dense:
        unit = float(np.spacing(np.float32(abs(weight)))) or 1.0
        return [
            {"step": "weight", "value": weight / unit},
            {"step": "stored", "value": stored / unit},
        ]
    words = ladder.rung("parameters").kept
    assert words is not None
    scale = float(scale_values(words, storage.scales)[0, column // storage.group]) or 1.0
    code = float(_one(ladder, "codes", column))
    nearest = float(np.rint(weight / scale))
    return [
        {"step": "weight", "value": weight / scale},
        {"step": "rounded", "value": nearest},
        {"step": "saturated", "value": code},
        {"step": "weight stored", "value": stored / scale},
    ]


def _one(ladder: Ladder, name: str, column: int) -> Any:
    kept = ladder.rung(name).kept
    assert kept is not None
    return kept[0, column]


def cost_rows(ladder: Ladder) -> list[Row]:
    """How far each rung is from what the source's own weights give."""
    return [
        {"rung": rung.name, "relative": rung.cost.relative, "largest": rung.cost.largest}
        for rung in ladder.rungs
        if rung.cost is not None
    ]


def error_pictures(ladder: Ladder) -> dict[str, Array]:
    """Weights, errors in steps, and relative RMS errors by group, cut to a map's size.

    The ladder must be of a whole tensor of a format with scales, in one block.
    """
    storage = ladder.subject.stored.storage
    kept = [ladder.rung(n).kept for n in ("semantic", "dequantized", "parameters")]
    assert all(array is not None for array in kept)
    source, stored, words = (np.asarray(array) for array in kept)
    scales = scale_values(words, storage.scales)
    spread = np.repeat(scales, storage.group, axis=1)[:, : source.shape[1]]
    gap = stored.astype(np.float64) - source
    steps = np.divide(gap, spread, out=np.zeros_like(gap), where=spread != 0)
    starts = np.arange(0, source.shape[1], storage.group)
    squares, of_source = (
        np.add.reduceat(np.square(x.astype(np.float64)), starts, axis=1) for x in (gap, source)
    )
    by_group = np.sqrt(np.divide(squares, of_source, out=np.zeros_like(squares),
                                 where=of_source != 0))  # fmt: skip
    return {
        "source": source[:MAP, :MAP],
        "steps": steps[:MAP, :MAP],
        "by_group": by_group[:MAP, :MAP],
    }


@dataclass(frozen=True)
class Quantizable:
    """A described source whose tensors are quantized one at a time, or by every profile."""

    root: Path
    config: EffectiveConfig
    sources: Sources

    @classmethod
    def of(cls, spec: str) -> Quantizable:
        """Acquire and describe a SOURCE. Raises Refused."""
        with tempfile.TemporaryDirectory() as scratch:
            source, described = admit_source(Workspace(Path(scratch)), spec)
        return cls(source.root, described.config, open_sources(source.root, described.config))

    def sensitivity(self, quant: str, *, tokens: Sequence[int] = (), length: int = 8) -> list[Row]:
        """Each matrix quantized alone: relative RMS error of its weights, KL and greedy changes.

        The case is `tokens`, or `length` seeded ones; KL is the mean over its positions.

        Raises:
            UnknownNameError: no such profile.
        """
        profile = PROFILES[quant]
        case = Case("given", tuple(tokens)) if tokens else self._case(length)
        before = self._logits(case, Plant())
        rows = []
        for tensor in model_tensors(self.config):
            dtype = profile.dtype_of(Role[tensor.role], tensor.shape)
            if tensor.name not in self.sources.parts or dtype == DType.f32:
                continue
            found = _quantized(self.sources.parts[tensor.name], profile, dtype)
            near = dict.fromkeys(self._names(tensor.name), found.near)
            logits = self._logits(case, Plant(weights=_replacing(near)))
            figures = position_figures(before, logits)
            rows.append(
                {
                    "tensor": tensor.name,
                    "role": tensor.role,
                    "format": dtype.name,
                    "weight_error": found.relative,
                    "KL": float(figures.kl_forward.mean()),
                    "other tokens": int(np.count_nonzero(~figures.top1_equal)),
                }
            )
        return rows

    def bits_rows(
        self, profiles: Sequence[str] = (), *, tokens: Sequence[int] = (), length: int = 8
    ) -> list[Row]:
        """Bits a weight, relative RMS error of all weights, and KL of the logits, by profile.

        Bits count codes, scales and padding of every tensor, the norms included; profiles with
        residuals are left out. KL is the mean over the positions of one case, in our own float32
        reference: it shows the shape, `trlm bench quant` has the evidence.

        Raises:
            UnknownNameError: no such profile.
        """
        names = profiles or [name for name in PROFILES if PROFILES[name].residual is None]
        case = Case("given", tuple(tokens)) if tokens else self._case(length)
        before = self._logits(case, Plant())
        return [self._bits(PROFILES[name], case, before) for name in names]

    def _bits(self, profile: PackProfile, case: Case, before: F32) -> Row:
        size = weights = 0
        squares = of_source = 0.0
        near: dict[str, F32] = {}
        for tensor in model_tensors(self.config):
            if tensor.name not in self.sources.parts:
                continue
            dtype = profile.dtype_of(Role[tensor.role], tensor.shape)
            planes = planes_of(tensor.shape, dtype, profile.scales_of(dtype))
            size += planes.data_len + planes.aux_len
            weights += planes.rows * planes.cols
            found = _quantized(self.sources.parts[tensor.name], profile, dtype)
            squares, of_source = squares + found.squares, of_source + found.of_source
            if dtype != DType.f32:
                near |= dict.fromkeys(self._names(tensor.name), found.near)
        figures = position_figures(before, self._logits(case, Plant(weights=_replacing(near))))
        return {
            "profile": profile.name,
            "format": "mixed" if profile.roles else _family(profile.matrices.name),
            "bits": 8 * size / weights,
            "weight_error": float(np.sqrt(squares / of_source)),
            "KL": float(figures.kl_forward.mean()),
        }

    def _case(self, length: int) -> Case:
        return random_cases(self.config.vocab_size, [length], SEED).cases[0]

    def _names(self, name: str) -> set[str]:
        """A tied head is the embedding by another name."""
        tied = self.config.tie_word_embeddings and name == "model.embed_tokens.weight"
        return {name, HEAD} if tied else {name}

    def _logits(self, case: Case, plant: Plant) -> F32:
        runner = ReferenceRunner(config=self.config, plant=plant)
        with runner.open(Subject(model_dir=self.root)) as session:
            return next(np.array(one.values) for one in session.run(case) if one.name == "logits")


def _family(dtype: str) -> str:
    """A format's name; plain floats are one family."""
    return "floats" if dtype in ("f32", "f16", "bf16") else dtype


def _pairs(part: Part, profile: PackProfile, dtype: DType) -> Iterator[tuple[F32, F32]]:
    """Blocks of rows as the source has them, and as the quantized tensor gives them back."""
    for first, raw in part.blocks():
        rows = widened(raw, part.stored.info.dtype)
        if dtype == DType.f32:
            yield rows, rows
            continue
        form = profile.format_of(dtype)
        data, scales = (memoryview(plane) for plane in form.quantize(rows, first_row=first))
        yield rows, form.dequantize(data, scales, *rows.shape, first_row=first)


@dataclass(frozen=True)
class _Near:
    """A tensor as a format gives it back, and the squares of its errors and of its weights."""

    near: F32
    squares: float
    of_source: float

    @property
    def relative(self) -> float:
        """Relative RMS error; 0 of a tensor of zeros."""
        return float(np.sqrt(self.squares / self.of_source)) if self.of_source else 0.0


def _quantized(part: Part, profile: PackProfile, dtype: DType) -> _Near:
    found, squares, of_source = [], 0.0, 0.0
    for rows, near in _pairs(part, profile, dtype):
        found.append(near)
        squares += float(np.square((rows - near).astype(np.float64)).sum())
        of_source += float(np.square(rows.astype(np.float64)).sum())
    return _Near(np.concatenate(found), squares, of_source)


@dataclass(frozen=True)
class _Replaced:
    """Weights in which some names are answered by other matrices."""

    sound: Weights
    rows: dict[str, F32]

    def matrix(self, name: str) -> RowBlocks:
        """A rank-2 tensor."""
        return self.rows[name] if name in self.rows else self.sound.matrix(name)

    def vector(self, name: str) -> Array:
        """A rank-1 tensor."""
        return self.sound.vector(name)


def _replacing(rows: dict[str, F32]) -> Callable[[Weights], Weights]:
    return lambda sound: _Replaced(sound, rows)
