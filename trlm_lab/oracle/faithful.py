"""Proof that watching changes nothing: logits with hooks on against logits with hooks off."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trlm_lab.base import canon
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import Case
from trlm_lab.errors import CaptureUnfaithfulError
from trlm_lab.oracle.runner import THREADS, TorchRunner


@dataclass(frozen=True)
class Faithfulness:
    """SHA-256 of the logits of one case without hooks, and with every checkpoint captured."""

    case_id: str
    plain: str
    watched: str

    @property
    def holds(self) -> bool:
        """Whether the two agree bit for bit."""
        return self.plain == self.watched

    def require(self) -> None:
        """Raise CaptureUnfaithfulError unless it holds."""
        if not self.holds:
            where = f"case {self.case_id}"
            raise CaptureUnfaithfulError(where=where, plain=self.plain, watched=self.watched)


def capture_is_faithful(
    model_dir: Path, case: Case, threads: int = THREADS, dtype: str = "float32"
) -> Faithfulness:
    """Run a case twice in one loaded model: plainly, before and after a full capture.

    The plain pass runs in the calling thread and the capture in its own, so agreement also shows
    that bits do not depend on the thread.

    Raises:
        OracleModelError, Refused, CaptureError: as `TorchRunner.open` and `run`.
    """
    with TorchRunner(threads, dtype).open(Subject(model_dir=model_dir)) as session:
        plain = canon.array_sha256(session.plain_logits(case))
        watched = ""
        for observation in session.run(case):
            if observation.name == "logits":
                watched = canon.array_sha256(observation.values)
        again = canon.array_sha256(session.plain_logits(case))
    return Faithfulness(case.case_id, plain if plain == again else f"{plain} or {again}", watched)
