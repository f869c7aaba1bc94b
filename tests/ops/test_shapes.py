"""Shapes in the signatures, checked while every operator and a whole forward pass run.

The check wraps modules while they are imported, so it runs in an interpreter of its own; users
never pay for it.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
HOOK = """
import sys
from jaxtyping import install_import_hook
with install_import_hook("trlm_lab.ops", "beartype.beartype"):
    import trlm_lab.ops.by_name, trlm_lab.ops.gated, trlm_lab.ops.top_k, trlm_lab.ops.yarn
sys.path[:0] = sys.argv[1:]
"""

SOUND = """
import numpy as np
from trlm_lab.backends.profiles import REFERENCE_PROFILES, evaluation_profile
from trlm_lab.ops.by_name import run_operator
from test_by_name import CALLS
for profile in REFERENCE_PROFILES:
    arithmetic = evaluation_profile(profile).arithmetic()
    for name, operands in CALLS.items():
        run_operator(name, operands, {}, arithmetic)
from trlm_lab.ops.rope_interleaved import half_split_to_interleaved
from trlm_lab.ops.yarn import yarn_inverse_frequencies
from trlm_lab.backends.model_files import OpenModel
from trlm_lab.backends.reference import ReferenceRunner
from trlm_lab.base.records import Case
from tests.backends.tiny_families import FAMILIES
from tiny_slm import tiny_config, tiny_weights
for family in FAMILIES:
    config = tiny_config(family, tie_word_embeddings=False)
    model = OpenModel(config, {w.name: w.values for w in tiny_weights(config)})
    for profile in REFERENCE_PROFILES:
        for _ in ReferenceRunner(profile).start(model).steps(Case("c", (1, 2, 3)), 2):
            pass
half_split_to_interleaved(8, 2)
yarn_inverse_frequencies(64, 1e6, 4.0, 32768)
print("checked")
"""

WRONG = """
import numpy as np
from jaxtyping import TypeCheckError
from trlm_lab.backends.profiles import evaluation_profile
from trlm_lab.ops.masks import without_padding
from trlm_lab.ops.top_k import top_k
for call in (
    lambda: top_k(np.zeros(3, np.float32)),
    lambda: top_k(np.zeros((1, 3), np.int64)),
    lambda: without_padding(np.ones((2, 3), bool), np.ones(2, bool)),
):
    try:
        call()
    except TypeCheckError:
        print("refused")
"""


def under_the_hook(script: str) -> list[str]:
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-c",
            HOOK + script,
            str(HERE),
            str(HERE.parent / "backends"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_every_operator_keeps_its_declared_shapes() -> None:
    assert under_the_hook(SOUND) == ["checked"]


def test_the_check_sees_wrong_shapes_and_types() -> None:
    assert under_the_hook(WRONG) == ["refused"] * 3
