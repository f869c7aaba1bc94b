"""The source framework as one engine among others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import Availability
from trlm_lab.errors import OracleMissingError, OracleModelError, UnknownNameError
from trlm_lab.oracle.environment import framework
from trlm_lab.oracle.waiting import wait_passively

if TYPE_CHECKING:
    from trlm_lab.oracle.session import TorchSession

#: Element types of weights and activations, and the evaluation profile that each one is.
PROFILES = {
    "float32": "source-eager-f32",
    "bfloat16": "source-eager-bf16",
    "float16": "source-eager-f16",
}
#: Threads of one forward pass; bits depend on it, so it is pinned and not taken from the machine.
THREADS = 2


class TorchRunner:
    """Runs a model directory in transformers: eager attention, one dtype, a fixed thread count.

    Traces hold float32 whatever the dtype, a key of `PROFILES`; widening changes no value.
    """

    name = "torch"

    def __init__(self, threads: int = THREADS, dtype: str = "float32") -> None:
        """Raise UnknownNameError for a dtype that is no key of `PROFILES`."""
        if dtype not in PROFILES:
            raise UnknownNameError(kind="dtype", name=dtype, known=", ".join(PROFILES))
        self.threads = threads
        self.dtype = dtype

    def availability(self) -> Availability:
        """Whether torch and transformers are installed; imports neither."""
        try:
            version = framework()
        except OracleMissingError as error:
            return Availability(False, reason=error.detail, fix=error.remedy)
        return Availability(True, version, (self.dtype, "eager", f"threads={self.threads}"))

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

        return TorchSession(subject.model_dir, self.name, self.threads, self.dtype)
