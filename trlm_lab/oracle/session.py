"""A loaded source model that yields every checkpoint of a case as its own forward pass runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from trlm_lab.base import canon
from trlm_lab.base.case_rules import check_case, check_decoding
from trlm_lab.base.collector import collector_at_rest
from trlm_lab.base.model_parts import ladder_of
from trlm_lab.base.records import Case, EngineIdentity, Observation
from trlm_lab.errors import CaptureError, TrlmError, UsageError
from trlm_lab.ops.top_k import top_k
from trlm_lab.oracle.attention_watch import AttentionWatch
from trlm_lab.oracle.case_inputs import Sink, first_tokens, input_tensors, padded_batch
from trlm_lab.oracle.defaults import effective_config, source_defaults
from trlm_lab.oracle.environment import environment_record
from trlm_lab.oracle.families import FAMILIES
from trlm_lab.oracle.hooks import Hooks
from trlm_lab.oracle.in_order import InOrder
from trlm_lab.oracle.inversion import generate
from trlm_lab.oracle.loading import load_model
from trlm_lab.oracle.runner import PROFILES
from trlm_lab.oracle.settings import pinned_thread


class _SinkFailed(BaseException):
    """What a sink raised, on its way through the forward pass of the source."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class TorchSession:
    """The `Session` of the source framework; forward passes run in threads of their own."""

    def __init__(self, model_dir: Path, name: str, threads: int, dtype: str = "float32") -> None:
        """Load the model; `dtype` is a key of `PROFILES`.

        Raises:
            OracleMissingError: torch or transformers is not installed.
            OracleModelError: the directory holds no whole model of a known family.
        """
        self._threads = threads
        self._dtype = dtype
        self._identity = _identity(name, threads, dtype)
        self._config = effective_config(source_defaults(model_dir))
        self._heads_first = _heads_first(self._config.model_type)
        self._model: Any = load_model(model_dir, dtype)
        self._hooks = Hooks(self._model, self._config)
        self._hooks.attach()

    @property
    def identity(self) -> EngineIdentity:
        """Framework versions, source hashes, and the whole environment in the details."""
        return self._identity

    def __enter__(self) -> TorchSession:
        return self

    def __exit__(self, *exc: object) -> None:
        self._model = None

    def run(self, case: Case) -> Iterator[Observation]:
        """Yield every checkpoint of a prefill, in ladder order, holding about one layer of them.

        `token_ids` come first, then `position_ids` and `attention_mask` where the case has them.

        Raises:
            TokenRangeError, ContextLengthError, PositionRangeError, MaskValueError,
            AllKeysMaskedError: the model cannot be asked this case.
            CaptureError: the source's forward pass failed or is not the known one.
        """
        inputs = self._inputs(case)
        yield from _given(case)

        def produce(sink: Sink) -> None:
            self._capture(case, lambda: self._watched_forward(inputs, sink))

        yield from _with_top_k(generate(produce, _bytes_of))

    def observe(self, case: Case, sink: Sink) -> None:
        """Hand to `sink` what `run` yields, in the calling thread, while the forward pass waits.

        The arrays are lent: most are the source's own memory, to be read until `sink` returns.
        Nothing is copied and no thread waits for another, which is the cheapest way to look at all
        of a case.

        Raises as `run`, and what `sink` raises.
        """
        inputs = self._inputs(case)

        def lend(seen: Observation) -> None:
            try:
                for one in _with_top_k(iter((seen,))):
                    sink(one)
            except Exception as error:
                raise _SinkFailed(error) from error

        for given in _given(case):
            sink(given)
        try:
            self._capture(case, lambda: self._watched_forward(inputs, lend, lent=True))
        except _SinkFailed as failed:
            raise failed.error from None

    def steps(self, case: Case, decode_steps: int) -> Iterator[Observation]:
        """A prefill, then greedy steps `step{s}.<name>` with the source's own cache of keys and
        values, then `generated`; step s runs `generated[s]`.

        The cache keeps the keys that a window hides, and the source's mask hides them, so that
        the checkpoints of a sliding layer have the axes of the others.

        Raises as `run`, and where the steps outgrow the context.
        """
        inputs, config = self._inputs(case), self._config
        check_decoding(case, decode_steps, config.vocab_size, config.max_position_embeddings)
        yield from _given(case)
        generated: list[int] = []

        def produce(sink: Sink) -> None:
            self._capture(case, lambda: self._decode(inputs, decode_steps, sink, generated))

        yield from _with_top_k(generate(produce, _bytes_of))
        yield Observation("generated", np.array(generated, dtype=np.int64))

    def run_beside(self, case: Case) -> Iterator[Observation]:
        """As `run`, in a batch of two: the case is padded with hidden tokens, and a longer one
        stands beside it. What is yielded is of the case alone.
        """
        self._inputs(case)
        inputs = padded_batch(case, self._config.max_position_embeddings)
        tokens = len(case.token_ids)

        def produce(sink: Sink) -> None:
            alone = first_tokens(tokens, sink)
            self._capture(case, lambda: self._watched_forward(inputs, alone))

        yield from _given(case)
        yield from _with_top_k(generate(produce, _bytes_of))

    def plain_logits(self, case: Case) -> NDArray[np.float32]:
        """Logits (T, V) of a forward pass without any hook, computed in the calling thread.

        No capture of this session may be under way.
        """
        inputs = self._inputs(case)
        self._hooks.detach()
        try:
            with pinned_thread(self._threads):
                logits = self._model(**inputs, use_cache=False).logits
            return self._copied("logits", logits)
        finally:
            self._hooks.attach()

    def _inputs(self, case: Case) -> dict[str, torch.Tensor]:
        if self._model is None:
            raise UsageError(where=f"case {case.case_id}", detail="the session is closed")
        c = self._config
        check_case(case, c.vocab_size, c.max_position_embeddings, c.sliding_window)
        return input_tensors(case)

    def _capture(self, case: Case, forward: Callable[[], object]) -> None:
        try:
            with collector_at_rest(), pinned_thread(self._threads):
                forward()
        except TrlmError:
            raise
        except Exception as error:
            detail = f"{type(error).__name__}: {error}"
            raise CaptureError(where=f"case {case.case_id}", detail=detail) from error

    def _decode(
        self, inputs: dict[str, torch.Tensor], steps: int, sink: Sink, generated: list[int]
    ) -> None:
        """Prefill and steps; `generated` is filled as they go."""
        from transformers import DynamicCache

        cache, position = DynamicCache(), inputs["position_ids"][:, -1:]
        last = self._watched_forward(inputs, sink, cache)
        for step in range(steps):
            # The lowest id among the largest logits, which torch does not promise.
            generated.append(int(np.argmax(last)))
            mask = torch.nn.functional.pad(inputs["attention_mask"], (0, step + 1), value=1)
            one = {
                "input_ids": torch.tensor([generated[-1:]], dtype=torch.int64),
                "position_ids": position + 1 + step,
                "attention_mask": mask,
            }
            last = self._watched_forward(one, _prefixed(f"step{step}.", sink), cache)

    def _watched_forward(
        self,
        inputs: dict[str, torch.Tensor],
        sink: Sink,
        cache: Any = None,
        *,
        lent: bool = False,
    ) -> NDArray[np.float32]:
        """Run the source and hand every checkpoint to `sink`; returns the last row of logits."""

        def hand_on(name: str, values: NDArray[np.float32]) -> None:
            sink(Observation(name, values))

        ordered = InOrder(ladder_of(self._config), hand_on)
        array_of = self._lent if lent else self._copied

        def emit(name: str, value: torch.Tensor) -> None:
            ordered.put(name, array_of(name, value))

        tap = self._hooks.tap
        watch = AttentionWatch(self._config, emit)
        tap.emit, tap.watch = emit, watch
        kept = {} if cache is None else {"cache": cache}
        try:
            with watch:
                logits: torch.Tensor = self._model(
                    **inputs, **kept, use_cache=cache is not None
                ).logits
            # Taken before the reader has the logits, who may write to them.
            last: NDArray[np.float32] = logits[0, -1].float().numpy().copy()
            emit("logits", logits)
        finally:
            # The thread may go on to a pass that nobody watches.
            tap.emit = tap.watch = None
        return last

    def _copied(self, name: str, value: torch.Tensor) -> NDArray[np.float32]:
        """A float32 copy as the trace shapes it."""
        array = self._lent(name, value)
        # The logits are the largest array and the last: the source reads them no more.
        return np.array(array, order="C", copy=None if name == "logits" else True)

    def _as_float32(self, op: str, value: torch.Tensor) -> NDArray[np.float32]:
        if self._dtype == "float32":
            # One call of the framework and no more: each goes through the watch.
            array: NDArray[Any] = value.numpy()
            return array.astype(np.float32, copy=False)
        # Some sources rotate and take the softmax in float32 and round what they make of it.
        if op != "attn_masked":
            value = value.to(getattr(torch, self._dtype))
        widened: NDArray[np.float32] = value.float().numpy()
        return widened

    def _lent(self, name: str, value: torch.Tensor) -> NDArray[np.float32]:
        """The values as the trace shapes them, in float32: batch axis dropped, heads as T H E."""
        op = name.rpartition(".")[2]
        array: NDArray[np.float32] = self._as_float32(op, value)[0]
        if op in ("q_norm", "k_norm") and array.ndim == 2:
            array = array.reshape(len(array), -1, self._config.head_dim)
        elif op in self._heads_first:
            array = array.transpose(1, 0, 2)
        return array


def _prefixed(prefix: str, sink: Sink) -> Sink:
    return lambda seen: sink(Observation(prefix + seen.name, seen.values))


def _bytes_of(seen: Observation) -> int:
    return seen.values.nbytes


def _with_top_k(stream: Iterator[Observation]) -> Iterator[Observation]:
    """Put the top k behind all logits."""
    for seen in stream:
        # Of the logits as they are made: whoever has them may write to them.
        highest = top_k(seen.values) if seen.name.endswith("logits") else None
        yield seen
        if highest is not None:
            yield Observation(f"{seen.name}.topk_ids", highest[0])
            yield Observation(f"{seen.name}.topk_values", highest[1])
        # Else it would live until the next one is there.
        del seen


def _given(case: Case) -> Iterator[Observation]:
    for name in ("token_ids", "position_ids", "attention_mask"):
        values = getattr(case, name)
        if values is not None:
            yield Observation(name, np.array(values, dtype=np.int64))


def _heads_first(model_type: str) -> frozenset[str]:
    """Checkpoints that the source has as (heads, tokens)."""
    rotated, normed = ("q_rope", "k_rope"), ("q_norm", "k_norm")
    return frozenset((*rotated, *normed) if FAMILIES[model_type].heads_first else rotated)


def _identity(name: str, threads: int, dtype: str) -> EngineIdentity:
    environment = environment_record(threads=threads, dtype=dtype)
    build = {key: environment[key] for key in ("sources", "torch_build", "torch_libraries")}
    version = ", ".join(f"{p} {environment['packages'][p]}" for p in ("torch", "transformers"))
    return EngineIdentity(name, version, PROFILES[dtype], canon.content_id(build), environment)
