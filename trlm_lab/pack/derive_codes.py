"""Codes of a whole source by a calibrated quantizer, out of Gram matrices."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.pack.calibrated import CALIBRATED
from trlm_lab.pack.codes import Codes, values_sha256, write_codes
from trlm_lab.pack.progress import Progress, silent
from trlm_lab.pack.source import Part, Sources, widened
from trlm_lab.quant import GROUPED


def derive_codes(
    sources: Sources,
    profile: str,
    grams: Mapping[str, NDArray[np.float64]],
    lineage: Mapping[str, Any],
    out: Path,
    progress: Progress = silent,
) -> Codes:
    """Quantize every matrix that has a Gram matrix and write the codes.

    Raises:
        UnknownNameError: no such calibrated profile.
        QuantGramError, QuantNonFiniteError, QuantOverflowError: as the algorithm.
    """
    chosen = CALIBRATED[profile]
    form = GROUPED[chosen.storage.matrices.name]
    names = [n for n, p in sources.parts.items() if len(p.shape) == 2 and n in grams]
    found = {}
    for done, name in enumerate(names):
        progress(f"quantize {profile}", done, len(names))
        part, gram = sources.parts[name], grams[name]
        coded = chosen.algorithm.quantize(form, whole(part), gram, where=name)
        facts = {
            "weights_sha256": values_sha256(part),
            "gram_sha256": hashlib.sha256(
                np.ascontiguousarray(gram, "<f8").data.cast("B")
            ).hexdigest(),
        }
        found[name] = (coded, facts)
    progress(f"quantize {profile}", len(names), len(names))
    return write_codes(out, profile, lineage, found)


def whole(part: Part) -> NDArray[np.float32]:
    """The float32 values of a part as one matrix."""
    blocks = [widened(raw, part.stored.info.dtype) for _, raw in part.blocks()]
    return np.concatenate(blocks).astype(np.float32, copy=False)
