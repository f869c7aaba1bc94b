"""One float32 model of the source framework, run with one set of weights after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from trlm_lab.errors import OracleModelError
from trlm_lab.oracle.loading import load_model
from trlm_lab.oracle.settings import pinned_thread

F32 = NDArray[np.float32]


class SwappedWeights:
    """The engine of quantization figures: everything but the weights stays the same."""

    def __init__(self, model_dir: Path, threads: int = 1) -> None:
        """Load the model.

        Raises:
            OracleMissingError, OracleModelError: as `load_model`.
        """
        self._where, self._threads = str(model_dir), threads
        self._model: Any = load_model(model_dir)
        self._own = {k: v.clone() for k, v in self._model.state_dict().items()}

    def matrices(self) -> dict[str, F32]:
        """The tensors of rank 2 by name; of tied ones the first."""
        seen: set[int] = set()
        found = {}
        for name, value in self._model.state_dict().items():
            if value.ndim == 2 and value.data_ptr() not in seen:
                seen.add(value.data_ptr())
                found[name] = value.numpy().copy()
        return found

    def logits(self, weights: Mapping[str, F32], windows: Sequence[Sequence[int]]) -> list[F32]:
        """Logits (T, V) of every window with some tensors replaced, the others as loaded.

        Raises:
            OracleModelError: a name or shape that the model has not.
        """
        state = self._model.state_dict()
        with pinned_thread(self._threads):
            for name, own in self._own.items():
                state[name].copy_(own)
            for name, values in weights.items():
                if name not in state or tuple(state[name].shape) != values.shape:
                    raise OracleModelError(where=self._where, detail=f"no {name} {values.shape}")
                state[name].copy_(torch.from_numpy(values))
            found = []
            for ids in windows:
                given = torch.tensor([list(ids)], dtype=torch.int64)
                found.append(self._model(input_ids=given, use_cache=False).logits[0].numpy())
            return found
