"""Declared shapes and types, checked while the tests of whole rooms run (`tests.shape_checks`).

The operators have a check of their own in `tests/ops/test_shapes.py`: their tests hand in wrong
shapes on purpose.
"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: The rooms of `tests.shape_checks`, which this process must not import: it installs the hook.
ROOMS = ("quant", "metrics", "slm", "compare", "calibrate", "pack", "rungs")

#: Tests that hand in what no caller does: an array of bytes to be spoilt in place, half a trace.
LEFT_OUT = (
    "tests/slm/test_every_byte.py",
    "tests/calibrate/test_floor.py::test_stored_traces_give_the_same_floors",
)

WRONG = """
import tests.shape_checks
import numpy as np
from jaxtyping import TypeCheckError
from trlm_lab.metrics.greedy import top_margins
from trlm_lab.metrics.masks import masked_entries
from trlm_lab.metrics.ulp import max_ulp
from trlm_lab.quant import FORMATS
single = np.zeros((2, 3), np.float32)
for call in (
    lambda: top_margins(single[0]),
    lambda: masked_entries(single.astype(np.int64)),
    lambda: max_ulp(single, single[:1]),
    lambda: max_ulp(single, single.astype(np.float64)),
    lambda: FORMATS["q8_r128"].quantize(single.astype(np.float64)),
    lambda: FORMATS["q8_r128"].quantize(single[0]),
):
    try:
        call()
    except TypeCheckError:
        print("refused")
"""


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_rooms_keep_to_their_declared_shapes() -> None:
    rooms = [f"tests/{room}" for room in ROOMS]
    left_out = [f"--deselect={name}" for name in LEFT_OUT]
    kinds = "not slow and not model and not browser and not peer"
    options = ("-q", "--tb=line", "-p", "tests.shape_checks", "-p", "no:cacheprovider")
    done = python("-m", "pytest", *options, "-m", kinds, *left_out, *rooms)
    assert done.returncode == 0, done.stdout[-3000:]


def test_wrong_shapes_and_types_are_seen() -> None:
    done = python("-W", "error", "-c", WRONG)
    assert done.stdout.split() == ["refused"] * 6, done.stderr[-2000:]
