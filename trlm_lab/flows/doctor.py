"""Which engines are here, with version and features; what is missing and how to get it."""

from __future__ import annotations

import platform
import sys
from typing import Any

from trlm_lab import __version__
from trlm_lab.acquire.tokenizer_data import SCRIPT, TokenizerPackage, tokenizer_packages
from trlm_lab.base.records import Availability
from trlm_lab.errors import TrlmError
from trlm_lab.flows.engines import ENGINES, runner

NOT_YET = "not part of trlm_lab"
#: Engines of the plan that this version does not build yet, and what each waits for.
PLANNED = {
    "native-threads": "the runtime's work sharing, in the order of lanes16-f32-v1",
    "wasm-threads@chromium": "a module with shared memory, and a cross-origin isolated page",
    "webgpu@chromium": "the WGSL kernels and their profile webgpu-f32-v1",
    "webgpu@wgpu": "the WGSL kernels and a wgpu host for them",
}
INSTALL = "python -m pip install -c constraints.txt -e '.[oracle,browser,models]'"


def examine() -> dict[str, Any]:
    """The document of `trlm doctor --json`.

    Every row of `engines` has the same five fields; `missing` says in words why an engine is not
    here, `planned` what an engine that this version does not build waits for, `tokenizer_data`
    which published tokenizers are in the cache.
    """
    states = {name: _state(name) for name in ENGINES if ":" not in name}
    states["process:COMMAND"] = Availability(
        True, "trlm-process-v1", ("any runtime that speaks docs/process-adapter",)
    )
    planned = {name: words for name, words in PLANNED.items() if name not in ENGINES}
    for name, words in planned.items():
        states[name] = Availability(False, fix=f"{NOT_YET} {__version__}; waits for {words}")
    missing = {name: state.reason for name, state in states.items() if state.reason}
    return {
        "trlm_lab": __version__,
        "python": platform.python_version(),
        "platform": f"{sys.platform} {platform.machine()}",
        "engines": [_row(name, state) for name, state in states.items()],
        "missing": missing,
        "planned": planned,
        "tokenizer_data": [_package_row(one) for one in tokenizer_packages().values()],
    }


def _package_row(package: TokenizerPackage) -> dict[str, Any]:
    return {
        "name": package.name,
        "package": f"{package.package} {package.version}",
        "available": package.is_here,
        "bytes": package.size,
        "fix": "" if package.is_here else f"{SCRIPT} {package.name}",
    }


def _state(name: str) -> Availability:
    try:
        return runner(name).availability()
    except TrlmError as error:
        return Availability(False, reason=error.detail, fix=error.remedy or INSTALL)
    except ImportError as error:
        return Availability(False, reason=str(error), fix=INSTALL)


def _row(name: str, state: Availability) -> dict[str, Any]:
    return {
        "name": name,
        "version": state.version,
        "available": state.available,
        "features": list(state.features),
        "fix": "" if state.available else state.fix or INSTALL,
    }
