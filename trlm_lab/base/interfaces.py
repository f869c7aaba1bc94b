"""The protocols through which stages use each other: runners, traces, block formats, blobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.records import Availability, Case, EngineIdentity, Observation


@dataclass(frozen=True)
class Subject:
    """What a runner opens: a `.slm`, a model directory (safetensors + config.json), or both.

    `ids` are the content ids (artifact, snapshot, configuration) that bind the trace.
    """

    artifact: Path | None = None
    model_dir: Path | None = None
    ids: dict[str, str] | None = None


@runtime_checkable
class Session(Protocol):
    """An opened model in one engine; a context manager."""

    @property
    def identity(self) -> EngineIdentity:
        """Who computes."""
        ...

    def run(self, case: Case) -> Iterator[Observation]:
        """Yield every exposed checkpoint of a prefill of `case`, in ladder order.

        Arrays are owned by the receiver. `token_ids` (int64) comes first. Non-finite values are
        yielded as they are; judging them is the comparator's work.
        """
        ...

    def __enter__(self) -> Session: ...

    def __exit__(self, *exc: object) -> None: ...


@runtime_checkable
class BatchSession(Session, Protocol):
    """A session that is dear to start: told all cases at once, it starts once."""

    def prepare(self, cases: Sequence[Case]) -> None:
        """Compute these cases; `run` then only reads, and `identity` is complete.

        Raises:
            InfrastructureError: the engine failed.
        """
        ...


@runtime_checkable
class LendingSession(Session, Protocol):
    """A session that can show its own arrays in passing, uncopied."""

    def observe(self, case: Case, sink: Callable[[Observation], None]) -> None:
        """Hand to `sink`, in the calling thread, what `run` yields; each is valid until it returns.

        Raises as `run`, and what `sink` raises.
        """
        ...


@runtime_checkable
class DecodingSession(Session, Protocol):
    """A session that goes on greedily behind a case, with its cache of keys and values."""

    def steps(self, case: Case, decode_steps: int) -> Iterator[Observation]:
        """What `run` yields, then `step{s}.<name>` of one token each, then `generated` (int64).

        Step s runs `generated[s]`, the lowest id among the largest logits before it.

        Raises:
            Refused: as `run`, and where the steps outgrow the context.
        """
        ...


@runtime_checkable
class Runner(Protocol):
    """An engine that can be asked whether it is here, and opened on a subject."""

    name: str

    def availability(self) -> Availability:
        """Probe without side effects; never raises for a missing engine."""
        ...

    def open(self, subject: Subject) -> Session:
        """Load the subject.

        Raises:
            InfrastructureError: the engine is missing or fails to start.
            Refused: the engine rejects the subject.
        """
        ...


class TraceView(Protocol):
    """Read access to a trace, wherever it lies."""

    @property
    def trace_id(self) -> str:
        """Content id of the run."""
        ...

    def case_ids(self) -> tuple[str, ...]:
        """Cases, in order."""
        ...

    def names(self, case_id: str) -> tuple[str, ...]:
        """Names of the arrays of a case, checkpoints in ladder order."""
        ...

    def read(self, case_id: str, name: str) -> NDArray[Any]:
        """One array."""
        ...


class BlockFormat(Protocol):
    """A storage format of a matrix (rows, cols) narrower than float32."""

    @property
    def name(self) -> str:
        """The dtype's name."""
        ...

    def row_stride(self, cols: int) -> int:
        """Bytes of a padded row of codes."""
        ...

    def groups(self, cols: int) -> int:
        """Scales of a row."""
        ...

    def scale_row(self, cols: int) -> int:
        """Bytes of the scales of a row."""
        ...

    def quantize(
        self, weights: NDArray[np.float32], *, where: str = "", first_row: int = 0
    ) -> tuple[bytes, bytes]:
        """Codes plane and scales plane of a float32 matrix, rows along axis 0.

        Rows are independent, so slices of rows may be packed one by one; errors name the tensor
        `where` and count rows from `first_row`.
        """
        ...

    def dequantize(
        self,
        codes: memoryview,
        scales: memoryview,
        rows: int,
        cols: int,
        *,
        where: str = "",
        first_row: int = 0,
    ) -> NDArray[np.float32]:
        """float32(code) * float32(scale), shape (rows, cols)."""
        ...


class RowPacker(Protocol):
    """Quantizes rows by a block format; whoever does it, the bytes are those of `form.quantize`."""

    def __call__(
        self, form: BlockFormat, rows: NDArray[np.float32], *, where: str, first_row: int
    ) -> tuple[bytes | memoryview, bytes]:
        """Codes and scales of the rows. Raises as `form.quantize`."""
        ...


class BlobStore(Protocol):
    """Content-addressed bytes."""

    def put(self, data: bytes) -> str:
        """Store, return the SHA-256."""
        ...

    def get(self, sha256: str) -> bytes:
        """Fetch, checked."""
        ...
