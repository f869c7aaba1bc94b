"""Module hooks on a llama of the source framework; each reports one checkpoint as it passes.

The hooks stay on the model and are silent except in a thread that is capturing, so that a
session may run several cases at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch

from trlm_lab.oracle.attention_watch import AttentionWatch


class Tap(threading.local):
    """Where the hooks of the current thread report to; None while it does not capture."""

    emit: Callable[[str, torch.Tensor], None] | None = None
    watch: AttentionWatch | None = None


class Hooks:
    """The hooks on one model; `detach` leaves the model as it was loaded."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._handles: list[Any] = []
        self.tap = Tap()

    def attach(self) -> None:
        """Put a hook on every module whose input or output is a checkpoint."""
        base = self._model.model
        self._output(base.embed_tokens, "embedding")
        for index, layer in enumerate(base.layers):
            self._attach_layer(layer, f"layers.{index}", index)
        self._output(base.norm, "final_norm")

    def _attach_layer(self, layer: Any, prefix: str, index: int) -> None:
        self._input(layer, f"{prefix}.input")
        self._output(layer.input_layernorm, f"{prefix}.attn_norm")
        for name in ("q_proj", "k_proj", "v_proj"):
            self._output(getattr(layer.self_attn, name), f"{prefix}.{name}")
        self._watch(layer.self_attn, index)
        self._input(layer.self_attn.o_proj, f"{prefix}.attn_values")
        self._output(layer.self_attn.o_proj, f"{prefix}.o_proj")
        self._input(layer.post_attention_layernorm, f"{prefix}.attn_residual")
        self._output(layer.post_attention_layernorm, f"{prefix}.mlp_norm")
        self._output(layer.mlp.gate_proj, f"{prefix}.gate_proj")
        self._output(layer.mlp.up_proj, f"{prefix}.up_proj")
        self._input(layer.mlp.down_proj, f"{prefix}.mlp_act")
        self._output(layer.mlp.down_proj, f"{prefix}.down_proj")
        self._output(layer, f"{prefix}.output")

    def detach(self) -> None:
        """Remove every hook."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _report(self, name: str, value: torch.Tensor) -> None:
        if self.tap.emit is not None:
            self.tap.emit(name, value)

    def _input(self, module: Any, name: str) -> None:
        def before(module: Any, args: tuple[Any, ...]) -> None:
            self._report(name, args[0])

        self._handles.append(module.register_forward_pre_hook(before))

    def _output(self, module: Any, name: str) -> None:
        def after(module: Any, args: tuple[Any, ...], output: torch.Tensor) -> None:
            self._report(name, output)

        self._handles.append(module.register_forward_hook(after))

    def _watch(self, module: Any, index: int) -> None:
        def before(module: Any, args: tuple[Any, ...]) -> None:
            if self.tap.watch is not None:
                self.tap.watch.begin(index)

        def after(module: Any, args: tuple[Any, ...], output: Any) -> None:
            if self.tap.watch is not None:
                self.tap.watch.end()

        self._handles.append(module.register_forward_pre_hook(before))
        self._handles.append(module.register_forward_hook(after))
