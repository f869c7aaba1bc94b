"""Workbench for numerical conformance of language models from source to browser.

The names below are the vocabulary of a notebook; each is imported when it is first used, so that
`import trlm_lab` stays light.
"""

import sys
from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Case": "trlm_lab.base.records",
    "CaseSuite": "trlm_lab.base.records",
    "Outcome": "trlm_lab.base.records",
    "Run": "trlm_lab.flows.run",
    "Subject": "trlm_lab.base.interfaces",
    "TraceStore": "trlm_lab.traces",
    "acquire_snapshot": "trlm_lab.acquire",
    "compare_traces": "trlm_lab.compare",
    "find_first_mismatch": "trlm_lab.bisection",
    "inspect": "trlm_lab.inspector",
    "load_suite": "trlm_lab.cases",
    "runner": "trlm_lab.flows.engines",
    "verify_directory": "trlm_lab.flows.verification",
}

#: A room hides a function of its own name as soon as it is imported.
_RENAMED = {"acquire_snapshot": "acquire"}

__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'trlm_lab' has no attribute {name!r}")
    if "IPython" in sys.modules:  # who works in Jupyter sees records as tables
        import_module("trlm_lab.flows.views").register()
    return getattr(import_module(_HOMES[name]), _RENAMED.get(name, name))


def __dir__() -> list[str]:
    return __all__
