"""What quantized weights do to the next token, beside llama.cpp's formats, in one float32 engine.

Both sides' weights are dequantized to float32 and run by the source framework in float32, so that
only the weights differ. Every matrix, the embedding and the head included, has the format of the
row; norms and biases are as they were and are not counted in the bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trlm_lab.backends.ggml_quantize import TYPES, ggml_quantize, ggml_values
from trlm_lab.errors import PeerMissingError
from trlm_lab.inspector.inspect import Progress, silent
from trlm_lab.metrics.bootstrap import paired_interval
from trlm_lab.metrics.next_token import next_token
from trlm_lab.oracle.calibration import Grams, calibration_grams
from trlm_lab.oracle.weight_swap import SwappedWeights
from trlm_lab.pack.calibrated import CALIBRATED
from trlm_lab.pack.profiles import PROFILES
from trlm_lab.quant import GROUPED, Search
from trlm_lab.quant.coded import Coded, rounded

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
Weights = Mapping[str, F32]
Row = dict[str, Any]

#: Our format, and the peer's that it is held against.
PAIRS: Final = (("q4_g64", "Q4_0"), ("q5_g64", "Q5_0"), ("q6_g64", "Q6_K"), ("q8_r128", "Q8_0"))
#: llama.cpp with an importance matrix of the same calibration activations; plain rounding, the
#: clipping search where there is one, both calibrated quantizers.
ALGORITHMS: Final = ("llama.cpp-imatrix", "round", "search", "awq", "gptq")


@dataclass(frozen=True)
class Stored:
    """Weights as a format gives them back, and how many bytes it stores."""

    weights: Weights
    bytes: int


class Measured:
    """One model, its held-out windows and its calibration activations."""

    def __init__(
        self,
        root: Path,
        windows: Sequence[Sequence[int]],
        calibration: Sequence[Sequence[int]],
        changed: Callable[[str, F32], F32] | None = None,
    ) -> None:
        """`windows` hold one id more than is fed in; `changed` makes other weights of the source's.

        Raises:
            OracleMissingError, OracleModelError: the source framework cannot run the directory.
        """
        self._root, self._calibration = root, calibration
        self._engine = SwappedWeights(root)
        own = self._engine.matrices()
        self.matrices = own if changed is None else {k: changed(k, v) for k, v in own.items()}
        self._given = [list(ids[:-1]) for ids in windows]
        self._targets = [np.asarray(ids[1:], np.int64) for ids in windows]
        self._reference = self._engine.logits(self.matrices, self._given)

    @cached_property
    def grams(self) -> Grams:
        """Of the source's own weights."""
        return calibration_grams(self._root, self._calibration)

    @property
    def tokens(self) -> int:
        """Positions that are scored."""
        return sum(len(t) for t in self._targets)

    @property
    def size(self) -> int:
        """Weights of all matrices."""
        return sum(m.size for m in self.matrices.values())

    def score(self, weights: Weights) -> dict[str, F64]:
        """KL, agreement and -log p, each (windows, positions)."""
        logits = self._engine.logits({**self.matrices, **weights}, self._given)
        rows = [
            next_token(a, b, t)
            for a, b, t in zip(self._reference, logits, self._targets, strict=True)
        ]
        return {
            "kl": np.stack([r.kl for r in rows]),
            "top1": np.stack([r.top1_equal.astype(np.float64) for r in rows]),
            "nll": np.stack([r.nll for r in rows]),
        }


def quant_rows(
    model: Measured,
    pairs: Sequence[tuple[str, str]] = PAIRS,
    algorithms: Sequence[str] = ALGORITHMS,
    progress: Progress = silent,
) -> list[Row]:
    """A row a stored form: pair, side, algorithm, bits, KL, agreement, perplexity, interval.

    `interval` is of our mean KL less the peer's, by windows; without llama.cpp, or where a row of
    the model is not whole blocks of the peer's, the peer's row and the intervals are missing.
    """
    plain = model.score({})
    rows = [_row(("f32", "f32"), "source", "", 32.0, plain, None)]
    for form, peer in pairs:
        theirs = _peer(model, peer)
        scored = None if theirs is None else model.score(theirs.weights)
        if theirs is not None and scored is not None:
            bits = 8 * theirs.bytes / model.size
            rows.append(_row((form, peer), peer, "llama.cpp", bits, scored, None))
        informed = _peer(model, peer, informed=True) if "llama.cpp-imatrix" in algorithms else None
        if informed is not None:
            found = model.score(informed.weights)
            bits = 8 * informed.bytes / model.size
            rows.append(_row((form, peer), peer, "llama.cpp-imatrix", bits, found, scored))
        own = [name for name in algorithms if name != "llama.cpp-imatrix"]
        for done, algorithm in enumerate(own):
            progress(f"{form} beside {peer}", done, len(own))
            ours = stored(model, form, algorithm)
            if ours is None:
                continue
            found = model.score(ours.weights)
            bits = 8 * ours.bytes / model.size
            rows.append(_row((form, peer), form, algorithm, bits, found, scored))
    return rows


def stored(model: Measured, form: str, algorithm: str) -> Stored | None:
    """Our side; None where the format has no such algorithm."""
    coded = {name: _coded(model, form, algorithm, name) for name in model.matrices}
    planes = {k: c for k, c in coded.items() if c is not None}
    if len(planes) < len(coded):
        return None
    grouped = GROUPED[form]
    weights = {k: c.values(grouped) for k, c in planes.items()}
    size = sum(len(a) + len(b) for a, b in (c.planes(grouped) for c in planes.values()))
    return Stored(weights, size)


def _coded(model: Measured, form: str, algorithm: str, name: str) -> Coded | None:
    grouped, weights = GROUPED[form], model.matrices[name]
    if algorithm == "search":
        if f"{form}-search" not in PROFILES:
            return None
        fractions = PROFILES[f"{form}-search"].fractions
        return rounded(replace(grouped, clipping=Search(fractions)), weights, where=name)
    if algorithm == "round" or name not in model.grams:
        return rounded(grouped, weights, where=name)
    profile = CALIBRATED[f"{form}-{algorithm}"]
    return profile.algorithm.quantize(grouped, weights, model.grams[name], where=name)


def _peer(model: Measured, type_name: str, *, informed: bool = False) -> Stored | None:
    """The peer's side; `informed` by the mean squares of the calibration activations."""
    columns = TYPES[type_name][1]
    if any(m.shape[1] % columns for m in model.matrices.values()):
        return None
    try:
        blocks = {
            k: ggml_quantize(m, type_name, _squares(model, k) if informed else None)
            for k, m in model.matrices.items()
        }
        values = {k: ggml_values(b, type_name) for k, b in blocks.items()}
    except PeerMissingError:
        return None
    return Stored(values, sum(b.nbytes for b in blocks.values()))


def _squares(model: Measured, name: str) -> F32 | None:
    """Mean squares of the input channels, up to a factor; None without activations."""
    gram = model.grams.get(name)
    return None if gram is None else np.diagonal(gram).astype(np.float32)


def _row(
    pair: tuple[str, str],
    name: str,
    algorithm: str,
    bits: float,
    scored: Mapping[str, F64],
    peer: Mapping[str, F64] | None,
) -> Row:
    row: Row = {
        "pair": " / ".join(pair),
        "format": name,
        "algorithm": algorithm,
        "bits a weight": round(bits, 4),
        "head": name if name != "source" else "f32",
        "mean KL": float(scored["kl"].mean()),
        "top-1 agreement": float(scored["top1"].mean()),
        "perplexity": float(np.exp(scored["nll"].mean())),
        "tokens": int(scored["kl"].size),
        "KL less the peer's": None,
        "95 % interval": None,
    }
    if peer is not None:
        row["KL less the peer's"] = float((scored["kl"] - peer["kl"]).mean())
        row["95 % interval"] = list(paired_interval(scored["kl"], peer["kl"]))
    return row


def half_step_noise(seed: int = 20260801, block: int = 32) -> Callable[[str, F32], F32]:
    """A change of weights: uniform noise of up to half a step of the grid that they lie on.

    The step of a block of columns is the smallest gap between different values of it.
    """

    def changed(name: str, weights: F32) -> F32:
        draw = np.random.Generator(np.random.Philox(key=[seed, len(name) + weights.size]))
        blocks = np.sort(weights.reshape(-1, block), axis=1)
        gaps = np.diff(blocks, axis=1)
        gaps[gaps <= np.abs(blocks[:, 1:]) * np.float32(1e-5)] = np.inf
        step = gaps.min(axis=1, keepdims=True)
        step[~np.isfinite(step)] = 0
        noise = draw.random(blocks.shape, np.float32) - np.float32(0.5)
        noisy: F32 = (weights.reshape(-1, block) + noise * step).reshape(weights.shape)
        return noisy

    return changed


def windows_of_text(
    encoded: Iterator[tuple[str, str, Sequence[int]]], count: int, window: int, most: int = 3
) -> list[list[int]]:
    """The first `count` windows of `window` + 1 ids, at most `most` of a document."""
    found: list[list[int]] = []
    for _, _, ids in encoded:
        starts = list(range(0, len(ids) - window, window))[:most]
        found += [list(ids[s : s + window + 1]) for s in starts]
        if len(found) >= count:
            break
    return found[:count]
