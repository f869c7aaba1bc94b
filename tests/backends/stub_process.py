"""A runtime of ours that misbehaves on demand, and how the tests call it."""

import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from trlm_lab.backends.process import ProcessRunner
from trlm_lab.backends.process_command import Limits, ProcessCommand
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import Case
from trlm_lab.errors import TrlmError

STUB = Path(__file__).parent / "programs" / "stub_runtime.py"
CONFIG = {
    "model_type": "llama",
    "vocab_size": 20,
    "hidden_size": 8,
    "intermediate_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
CASE = Case("abc", (3, 1, 2))
OTHER = Case("def.1", (5,))


def stub(misdeed: str, **limits: float) -> ProcessCommand:
    arguments = (sys.executable, str(STUB), misdeed)
    return replace(ProcessCommand(arguments), limits=Limits(**{"seconds": 60.0, **limits}))


def observed(command: ProcessCommand, subject: Subject, case: Case = CASE) -> dict[str, np.ndarray]:
    with ProcessRunner(command).open(subject) as session:
        return {o.name: o.values for o in session.run(case)}


def raised(misdeed: str, subject: Subject, kind: type[TrlmError], **limits: float) -> TrlmError:
    with pytest.raises(kind) as caught:
        observed(stub(misdeed, **limits), subject)
    return caught.value


def gone(pid: int) -> bool:
    """Whether a process has ended; an orphan is reaped by init at its leisure."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


def gone_soon(pid: int) -> bool:
    for _ in range(200):
        if gone(pid):
            return True
        time.sleep(0.02)
    return False
