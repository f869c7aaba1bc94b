"""Watch the source's own attention: the tensors that its torch functions return, in their order.

Between entering and leaving an attention module, the functions below must come exactly in this
order and feed each other: two additions (the rotated queries and keys, each joined with what is
not rotated where the rotation is partial), a matrix product, a product with a Python float, a
division, a tanh and another such product where scores are capped, an addition (the masked scores),
a softmax, a matrix product. Anything else means that the source is not the one this capture was
written for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from trlm_lab.base.records import EffectiveConfig
from trlm_lab.errors import CaptureError

Emit = Callable[[str, torch.Tensor], None]
_Step = Callable[[str, tuple[Any, ...], torch.Tensor], None]

_WATCHED = frozenset({"add", "cat", "div", "matmul", "mul", "softmax", "tanh"})
_CASTS = frozenset({"to", "type"})


class AttentionWatch(TorchFunctionMode):  # type: ignore[misc]
    """A torch function mode that passes every call through and reports what attention makes."""

    def __init__(self, config: EffectiveConfig, emit: Emit) -> None:
        super().__init__()
        self._emit = emit
        self._rotates = config.rope_order != "none"
        self._partial = self._rotates and 2 * len(config.rope_inv_freq) < config.head_dim
        self._capped = config.attn_logit_softcapping is not None
        self._layer = -1
        self._step: _Step | None = None
        self._paused: _Step | None = None
        self._query: torch.Tensor | None = None
        self._turned: torch.Tensor | None = None
        self._previous: torch.Tensor | None = None

    def begin(self, layer: int) -> None:
        """The attention module of this layer has been entered."""
        self._layer = layer
        then = partial(self._rotated, "k_rope", self._product)
        self._step = partial(self._rotated, "q_rope", then) if self._rotates else self._product

    def pause(self) -> None:
        """A module inside attention has been entered whose arithmetic is its own."""
        self._paused, self._step = self._step, None

    def resume(self) -> None:
        """That module has been left."""
        self._paused, self._step = None, self._paused

    def end(self) -> None:
        """Attention has been left. Raises CaptureError where a step is missing."""
        if self._step is not None and self._step != self._done:
            raise CaptureError(where=self._where("attention"), detail="it ended too early")
        self._step = self._query = self._turned = self._previous = None

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if self._step is not None:
            name = getattr(func, "__name__", "")
            if name in _CASTS and args[0] is self._query:
                self._query = result
            # Rotations multiply tensors and join halves; the factor of the scores is a float.
            elif name in _WATCHED and not self._is_inside_rotation(name, args):
                self._step(name, args, result)
        return result

    def _is_inside_rotation(self, name: str, args: tuple[Any, ...]) -> bool:
        if name == "cat":
            return not self._partial or self._turned is None
        return name == "mul" and isinstance(args[1], torch.Tensor)

    def _where(self, op: str) -> str:
        return f"layers.{self._layer}.{op}"

    def _require(self, op: str, expected: str, got: str, fed: bool = True) -> None:
        if got != expected or not fed:
            detail = f"the source called {got}{'' if fed else ' on another tensor'}"
            raise CaptureError(where=self._where(op), detail=f"{detail}, {expected} was due")

    def _report(self, op: str, value: torch.Tensor, then: _Step) -> None:
        self._emit(self._where(op), value)
        self._previous, self._step = value, then

    def _rotated(
        self, op: str, then: _Step, name: str, args: tuple[Any, ...], result: torch.Tensor
    ) -> None:
        if self._partial and self._turned is None:
            self._require(op, "add", name)
            self._turned = result
            return
        if self._partial:
            self._require(op, "cat", name, args[0][0] is self._turned)
            self._turned = None
        else:
            self._require(op, "add", name)
        if op == "q_rope":
            self._query = result
        self._report(op, result, then)

    def _product(self, name: str, args: tuple[Any, ...], result: torch.Tensor) -> None:
        fed = not self._rotates or args[0] is self._query
        self._require("attn_scores", "matmul", name, fed)
        self._previous, self._step = result, self._scores

    def _scores(self, name: str, args: tuple[Any, ...], result: torch.Tensor) -> None:
        self._require("attn_scores", "mul", name, args[0] is self._previous)
        if self._capped:
            self._previous, self._step = result, partial(self._cap, ("div", "tanh", "mul"))
        else:
            self._report("attn_scores", result, self._masked)

    def _cap(
        self, due: tuple[str, ...], name: str, args: tuple[Any, ...], result: torch.Tensor
    ) -> None:
        self._require("attn_scores", due[0], name, args[0] is self._previous)
        if due[1:]:
            self._previous, self._step = result, partial(self._cap, due[1:])
        else:
            self._report("attn_scores", result, self._masked)

    def _masked(self, name: str, args: tuple[Any, ...], result: torch.Tensor) -> None:
        self._require("attn_masked", "add", name, args[0] is self._previous)
        # In half precision a score still moves the sum with the most negative number.
        hidden = args[1] == torch.finfo(args[1].dtype).min
        shown = result.to(torch.float32).masked_fill(hidden, torch.finfo(torch.float32).min)
        self._report("attn_masked", shown, self._probabilities)
        self._previous = result

    def _probabilities(self, name: str, args: tuple[Any, ...], result: torch.Tensor) -> None:
        self._require("attn_probs", "softmax", name, args[0] is self._previous)
        self._report("attn_probs", result, self._values)

    def _values(self, name: str, args: tuple[Any, ...], result: torch.Tensor) -> None:
        self._require("attn_values", "matmul", name)
        self._step = self._done

    def _done(self, name: str, args: tuple[Any, ...], result: torch.Tensor) -> None:
        self._require("attn_values", "nothing more", name)
