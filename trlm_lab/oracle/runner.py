"""The source framework as one engine among others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import Availability
from trlm_lab.errors import OracleMissingError, OracleModelError
from trlm_lab.oracle.environment import framework
from trlm_lab.oracle.waiting import wait_passively

if TYPE_CHECKING:
    from trlm_lab.oracle.session import TorchSession

#: Threads of one forward pass; bits depend on it, so it is pinned and not taken from the machine.
THREADS = 2


class TorchRunner:
    """Runs a model directory in transformers: float32, eager attention, a fixed thread count."""

    name = "torch"

    def __init__(self, threads: int = THREADS) -> None:
        self.threads = threads

    def availability(self) -> Availability:
        """Whether torch and transformers are installed; imports neither."""
        try:
            version = framework()
        except OracleMissingError as error:
            return Availability(False, reason=error.detail, fix=error.remedy)
        return Availability(True, version, ("float32", "eager", f"threads={self.threads}"))

    def open(self, subject: Subject) -> TorchSession:
        """Load the model directory of the subject.

        Raises:
            OracleMissingError: torch or transformers is not installed.
            OracleModelError: the subject has no model directory, or one that does not load.
        """
        if subject.model_dir is None:
            raise OracleModelError(where="subject", detail="it names no model directory")
        framework()
        wait_passively()
        from trlm_lab.oracle.session import TorchSession

        return TorchSession(subject.model_dir, self.name, self.threads)
