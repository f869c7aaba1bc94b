"""The golden pack vectors: what Python writes, the runtime and JavaScript read."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest

from tests.quant.pack_vectors import FILE, text
from tests.skips import lacking
from trlm_lab.errors import QuantCodeError, QuantPaddingError, QuantScaleError
from trlm_lab.quant import block_format

GROUPS: list[dict[str, Any]] = json.loads(FILE.read_text("utf-8"))["vectors"]
IDS = [f"{g['format']}-{g['scales']}" for g in GROUPS]
REFUSED = {"CODE": QuantCodeError, "PADDING": QuantPaddingError, "SCALE": QuantScaleError}


def test_the_file_is_what_the_quantizer_writes() -> None:
    assert FILE.read_text("utf-8") == text()


@pytest.mark.parametrize("group", GROUPS, ids=IDS)
def test_the_strict_reader(group: dict[str, Any]) -> None:
    form = block_format(group["format"], group["scales"])
    for block in group["sound"]:
        planes = (memoryview(bytes.fromhex(block[plane])) for plane in ("codes", "scales"))
        assert form.dequantize(*planes, 1, block["cols"]).tobytes().hex() == block["y"]
    for block in group["malformed"]:
        planes = (memoryview(bytes.fromhex(block[plane])) for plane in ("codes", "scales"))
        with pytest.raises(REFUSED[block["rule"]]):
            form.dequantize(*planes, 1, block["cols"])


def test_a_decoder_in_javascript() -> None:
    node = shutil.which("node")
    if node is None:
        lacking("node", "none on the path")
    script = FILE.with_name("pack_reader.mjs")
    done = subprocess.run([str(node), str(script), str(FILE)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *wrong, summary = done.stdout.splitlines()
    assert wrong == []
    counts = {kind: sum(len(g[kind]) for g in GROUPS) for kind in ("sound", "malformed")}
    assert json.loads(summary) == {"read": counts["sound"], "refused": counts["malformed"]}


def test_every_kind_of_the_standard_is_there() -> None:
    names = {block["what"] for block in GROUPS[0]["sound"]}
    wanted = {"all zero", "constant", "extrema", "halfway", "alternating", "every place",
              "scale rounded down, clamped", "63 columns", "65 columns", "129 columns"}  # fmt: skip
    assert names >= wanted
    for group in GROUPS:
        used = np.concatenate([np.frombuffer(bytes.fromhex(b["codes"]), np.uint8)
                               for b in group["sound"]])  # fmt: skip
        assert len(set(used.tolist())) > 20
