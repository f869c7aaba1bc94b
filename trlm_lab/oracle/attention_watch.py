"""Watch the source's own attention: the tensors that its torch functions return, in their order.

Between entering and leaving an attention module, the functions below must come exactly in this
order and feed each other: two additions (the rotated queries and keys), a matrix product, a
product with a Python float (the scores), an addition (the masked scores), a softmax, a matrix
product. Anything else means that the source is not the one this capture was written for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from trlm_lab.errors import CaptureError

Emit = Callable[[str, torch.Tensor], None]

_WATCHED = frozenset({"add", "matmul", "mul", "softmax"})


class AttentionWatch(TorchFunctionMode):  # type: ignore[misc]
    """A torch function mode that passes every call through and reports what attention makes."""

    def __init__(self, emit: Emit) -> None:
        super().__init__()
        self._emit = emit
        self._layer = -1
        self._step: Callable[..., None] | None = None
        self._query: torch.Tensor | None = None
        self._previous: torch.Tensor | None = None

    def begin(self, layer: int) -> None:
        """The attention module of this layer has been entered."""
        self._layer = layer
        self._step = self._rotated_query

    def end(self) -> None:
        """It has been left. Raises CaptureError where a step is missing."""
        if self._step is not None and self._step != self._done:
            raise CaptureError(where=self._where("attention"), detail="it ended too early")
        self._step = self._query = self._previous = None

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if self._step is not None:
            name = getattr(func, "__name__", "")
            # Products of two tensors belong to the rotation; the scores' factor is a float.
            if name in _WATCHED and not (name == "mul" and isinstance(args[1], torch.Tensor)):
                self._step(name, args, result)
        return result

    def _where(self, op: str) -> str:
        return f"layers.{self._layer}.{op}"

    def _require(self, op: str, expected: str, got: str, fed: bool = True) -> None:
        if got != expected or not fed:
            detail = f"the source called {got}{'' if fed else ' on another tensor'}"
            raise CaptureError(where=self._where(op), detail=f"{detail}, {expected} was due")

    def _report(self, op: str, value: torch.Tensor, then: Callable[..., None]) -> None:
        self._emit(self._where(op), value)
        self._previous, self._step = value, then

    def _rotated_query(self, name: str, args: tuple[Any, ...], result: torch.Tensor) -> None:
        self._require("q_rope", "add", name)
        self._query = result
        self._report("q_rope", result, self._rotated_key)

    def _rotated_key(self, name: str, args: tuple[Any, ...], result: torch.Tensor) -> None:
        self._require("k_rope", "add", name)
        self._report("k_rope", result, self._product)

    def _product(self, name: str, args: tuple[Any, ...], result: torch.Tensor) -> None:
        self._require("attn_scores", "matmul", name, args[0] is self._query)
        self._previous, self._step = result, self._scores

    def _scores(self, name: str, args: tuple[Any, ...], result: torch.Tensor) -> None:
        self._require("attn_scores", "mul", name, args[0] is self._previous)
        self._report("attn_scores", result, self._masked)

    def _masked(self, name: str, args: tuple[Any, ...], result: torch.Tensor) -> None:
        self._require("attn_masked", "add", name, args[0] is self._previous)
        self._report("attn_masked", result, self._probabilities)

    def _probabilities(self, name: str, args: tuple[Any, ...], result: torch.Tensor) -> None:
        self._require("attn_probs", "softmax", name, args[0] is self._previous)
        self._report("attn_probs", result, self._values)

    def _values(self, name: str, args: tuple[Any, ...], result: torch.Tensor) -> None:
        self._require("attn_values", "matmul", name)
        self._step = self._done

    def _done(self, name: str, args: tuple[Any, ...], result: torch.Tensor) -> None:
        self._require("attn_values", "nothing more", name)
