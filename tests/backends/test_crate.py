"""The Rust crate's own tests, and the elementary functions' hashes that both languages check."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.skips import lacking
from trlm_lab.backends.runtime_source import CRATE
from trlm_lab.base.canon import array_sha256
from trlm_lab.ops import elementary

STEP = 4099
#: The tests take two seconds without the optimizer, which takes a minute; what the optimizer makes
#: of the sources is compared bit by bit with the reference elsewhere.
BUILD = {
    "CARGO_INCREMENTAL": "0",
    "CARGO_PROFILE_DEV_DEBUG": "0",
    "CARGO_PROFILE_DEV_OPT_LEVEL": "0",
    "RUSTFLAGS": "-D warnings",
}


@pytest.fixture(scope="module")
def swept() -> np.ndarray:
    """Every 4099th float32, by bit pattern."""
    return np.arange(0, 1 << 32, STEP, dtype=np.uint64).astype(np.uint32).view(np.float32)


@pytest.mark.parametrize("name", ["exp", "sin", "cos"])
def test_the_crate_holds_the_hashes_of_the_python_functions(name: str, swept: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        values = getattr(elementary, name)(swept)
    values[np.isnan(values)] = np.uint32(0x7FC00000).view(np.float32)
    source = (CRATE / "tests" / "elementary.rs").read_text()
    match = re.search(rf'{name.upper()}_SHA256: &str = "([0-9a-f]{{64}})"', source)
    assert match is not None
    assert match[1] == array_sha256(values)


@pytest.mark.slow
@pytest.mark.parametrize("features", [(), ("--features", "exp_ulp_off")], ids=["sound", "wrong"])
def test_the_crate_passes_its_tests(tmp_path: Path, features: tuple[str, ...]) -> None:
    cargo = shutil.which("cargo")
    if cargo is None:
        lacking("cargo", "none on the path")
    environment = {**os.environ, **BUILD, "CARGO_TARGET_DIR": str(tmp_path)}
    done = subprocess.run(
        [cargo, "test", "--offline", "--quiet", *features],
        cwd=CRATE,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "elementary" in done.stderr + done.stdout or "test result: ok" in done.stdout
