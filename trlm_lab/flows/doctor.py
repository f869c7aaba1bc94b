"""Which engines are here, with version and features; what is missing and how to get it."""

from __future__ import annotations

import platform
import sys
from typing import Any

from trlm_lab import __version__
from trlm_lab.errors import TrlmError
from trlm_lab.flows.engines import ENGINES, runner

#: Engines of the plan that this version does not build yet.
PLANNED = (
    "native-simd",
    "native-threads",
    "wasm-simd@wasmtime",
    "wasm-simd@chromium",
    "wasm-threads@chromium",
    "webgpu@chromium",
    "webgpu@wgpu",
)


def examine() -> dict[str, Any]:
    """The document of `trlm doctor --json`."""
    rows = [_row(name) for name in ENGINES if ":" not in name]
    rows.append(
        {
            "name": "process:COMMAND",
            "version": "trlm-process-v1",
            "available": True,
            "features": ["any runtime that speaks docs/process-adapter"],
            "fix": "",
        }
    )
    rows += [
        {
            "name": name,
            "version": "",
            "available": False,
            "features": [],
            "fix": f"not part of trlm_lab {__version__}",
        }
        for name in PLANNED
    ]
    return {
        "trlm_lab": __version__,
        "python": platform.python_version(),
        "platform": f"{sys.platform} {platform.machine()}",
        "engines": rows,
    }


def _row(name: str) -> dict[str, Any]:
    try:
        here = runner(name).availability()
    except (ImportError, TrlmError) as error:
        fix = "python -m pip install -c constraints.txt -e '.[oracle,browser,models]'"
        return {"name": name, "version": "", "available": False, "features": [],
                "reason": str(error), "fix": fix}  # fmt: skip
    return {
        "name": name,
        "version": here.version,
        "available": here.available,
        "features": list(here.features),
        "reason": here.reason,
        "fix": here.fix,
    }
