"""Module hooks on a model of the source framework; each reports checkpoints as they pass.

Which module makes which checkpoint follows from the source tensors: the module that holds the
weight of an operator computes it, and where one weight holds several operators (fused projections)
their outputs are the same ranges of its columns.

The hooks stay on the model and are silent except in a thread that is capturing, so that a
session may run several cases at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch

from trlm_lab.base.model_parts import FINAL_NORM, layer_tensors
from trlm_lab.base.names import layer_checkpoint, parse_checkpoint
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.base.source_tensors import SourcePart, source_tensors
from trlm_lab.oracle.attention_watch import AttentionWatch

#: The checkpoint that goes into a projection.
_BEFORE = {"o_proj": "attn_values", "down_proj": "mlp_act"}


class Tap(threading.local):
    """Where the hooks of the current thread report to; None while it does not capture."""

    emit: Callable[[str, torch.Tensor], None] | None = None
    watch: AttentionWatch | None = None


class Hooks:
    """The hooks on one model; `detach` leaves the model as it was loaded."""

    def __init__(self, model: Any, config: EffectiveConfig) -> None:
        self._model = model
        self._config = config
        self._handles: list[Any] = []
        self.tap = Tap()

    def attach(self) -> None:
        """Put a hook on every module whose input or output is a checkpoint."""
        self._output(self._model.get_input_embeddings(), [("embedding", slice(None))])
        for path, outputs in _modules(self._config):
            self._output(self._model.get_submodule(path), outputs)
            for name, _ in outputs:
                self._attach_around(name, path)

    def _attach_around(self, name: str, path: str) -> None:
        """What stands beside the module at `path` that makes checkpoint `name`."""
        point = parse_checkpoint(name)
        module = self._model.get_submodule(path)
        if point.layer is None:
            return
        prefix, parent = f"layers.{point.layer}", self._model.get_submodule(path.rpartition(".")[0])
        if point.op in _BEFORE:
            self._input(module, f"{prefix}.{_BEFORE[point.op]}")
        if point.op in ("q_norm", "k_norm"):
            self._pause(module)
        if point.op == "mlp_norm":
            self._input(module, f"{prefix}.attn_residual")
        if point.op == "o_proj":
            self._watch(parent, point.layer)
            block = self._model.get_submodule(path.rsplit(".", 2)[0])
            self._input(block, f"{prefix}.input")
            self._output(block, [(f"{prefix}.output", slice(None))])
        if point.op == "down_proj" and self._config.norm_placement == "post":
            self._input(parent, f"{prefix}.attn_residual")

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

    def _output(self, module: Any, outputs: list[tuple[str, slice]]) -> None:
        def after(module: Any, args: tuple[Any, ...], output: torch.Tensor) -> None:
            for name, columns in outputs:
                self._report(name, output[..., columns])

        self._handles.append(module.register_forward_hook(after))

    def _watch(self, module: Any, layer: int) -> None:
        self._around(module, lambda watch: watch.begin(layer), lambda watch: watch.end())

    def _pause(self, module: Any) -> None:
        self._around(module, lambda watch: watch.pause(), lambda watch: watch.resume())

    def _around(
        self,
        module: Any,
        enter: Callable[[AttentionWatch], None],
        leave: Callable[[AttentionWatch], None],
    ) -> None:
        def before(module: Any, args: tuple[Any, ...]) -> None:
            if self.tap.watch is not None:
                enter(self.tap.watch)

        def after(module: Any, args: tuple[Any, ...], output: Any) -> None:
            if self.tap.watch is not None:
                leave(self.tap.watch)

        self._handles.append(module.register_forward_pre_hook(before))
        self._handles.append(module.register_forward_hook(after))


def _modules(config: EffectiveConfig) -> Iterator[tuple[str, list[tuple[str, slice]]]]:
    """Path of each module that holds weights, and the checkpoints that its columns are."""
    names = {FINAL_NORM: "final_norm"}
    for layer in range(config.num_hidden_layers):
        for tensor in layer_tensors(config, layer):
            if tensor.name.endswith(".weight"):
                names[tensor.name] = layer_checkpoint(layer, tensor.role)
    for source in source_tensors(config):
        outputs = [
            (names[part.destination], _columns(part))
            for part in source.parts
            if part.destination in names
        ]
        if outputs:
            yield source.name.removesuffix(".weight"), outputs


def _columns(part: SourcePart) -> slice:
    """The columns of a fused projection's output that are one operator's."""
    for step in part.steps:
        if step.kind == "rows":
            first = step.parameters["first"]
            return slice(first, first + step.parameters["count"])
    return slice(None)
