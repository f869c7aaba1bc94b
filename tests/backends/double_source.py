"""The source in float64: its own modules and code, with what it does in float32 lifted.

`casts="lifted"` makes every step float64 but the rotary angles, whose float32 product is part of
the model; what float32 code rounds on its way, a factor or an epsilon written in Python, is rounded
the same way, so that both sides compute one function. `casts="kept"` leaves the source as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode

from trlm_lab.base.records import Case
from trlm_lab.oracle import runner
from trlm_lab.oracle.session import TorchSession

#: Python numbers that meet a tensor in these are rounded to it in a float32 run.
_SCALED = frozenset({"add", "mul", "div", "rsub", "__rsub__", "__radd__", "__rmul__"})
_NARROW = (torch.float32, torch.float)


def _f32(value: Any) -> Any:
    return float(np.float32(value)) if isinstance(value, float) else value


def _is_double(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype == torch.float64


def gelu_tanh(x: torch.Tensor) -> torch.Tensor:
    """GELU as a float32 run writes its constants."""
    slope, cubic = _f32(math.sqrt(2 / math.pi)), _f32(0.044715)
    return 0.5 * x * (1 + torch.tanh(slope * (x + cubic * x * x * x)))


class Lifted(TorchFunctionMode):  # type: ignore[misc]
    """Answers a step down to float32 with the float64 tensor itself."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs, name = dict(kwargs or {}), getattr(func, "__name__", "")
        if args and _is_double(args[0]):
            if name == "float" or (name == "to" and {*args[1:], *kwargs.values()} & {*_NARROW}):
                return args[0]
            if kwargs.get("dtype") in _NARROW:
                del kwargs["dtype"]
            if name == "gelu" and kwargs.get("approximate") == "tanh":
                return gelu_tanh(args[0])
        if name in ("cos", "sin") and args[0].dtype == torch.float32:
            return func(args[0].double())
        if name in _SCALED:
            args = tuple(map(_f32, args))
        return func(*args, **kwargs)


class DoubleSession(TorchSession):
    """A source session that keeps every checkpoint in float64, a map a forward pass."""

    def __init__(self, model_dir: Path, casts: str) -> None:
        super().__init__(model_dir, "torch", 1, "float64")
        self.casts = casts
        self.passes: list[dict[str, Any]] = []
        for module in self._model.modules():
            # A torch kernel takes this epsilon, and a buffer holds this scale.
            if isinstance(module, torch.nn.LayerNorm):
                module.eps = _f32(module.eps)
            if hasattr(module, "embed_scale"):
                module.embed_scale = module.embed_scale.float().double()

    def _watched_forward(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        self.passes.append({})
        with Lifted() if self.casts == "lifted" else nullcontext():
            return super()._watched_forward(*args, **kwargs)

    def _lent(self, name: str, value: torch.Tensor) -> Any:
        with Lifted():
            wide = super()._lent(name, value)
        self.passes[-1][name] = np.array(wide, np.float64)
        return wide.astype(np.float32)


@contextmanager
def double_profile() -> Iterator[None]:
    """Let the oracle load a model in float64, which no user may ask for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(runner.PROFILES, "float64", "source-eager-f64")
        yield


def source_passes(model_dir: Path, case: Case, casts: str, steps: int = 0) -> list[dict[str, Any]]:
    """Every checkpoint of the source in float64 by name: the prefill, then a map a greedy step."""
    with double_profile():
        session = DoubleSession(model_dir, casts)
    for _ in session.steps(case, steps) if steps else session.run(case):
        pass
    return session.passes
