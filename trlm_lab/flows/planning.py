"""Plans for the demo and for any other source, with the engines that are here."""

from __future__ import annotations

from pathlib import Path

from trlm_lab.acquire import parse_source
from trlm_lab.cases import is_case_file
from trlm_lab.errors import UnknownNameError
from trlm_lab.flows.engines import ENGINES, EXACT_PROFILES, runner
from trlm_lab.flows.plan import LOCAL_SCHEMES, RunPlan
from trlm_lab.pack import PROFILES

#: The order in which an exact engine is chosen to have its arrays stored.
_PREFERRED = ("native-scalar", "reference", "wasm-scalar@wasmtime", "wasm-scalar@chromium")
_PREFERRED_LANES = (
    "native-simd", "reference:lanes16-f32-v1", "wasm-simd@wasmtime", "wasm-simd@chromium",
)  # fmt: skip
DEMO_FAULT = "rope_pairing@15"


def demo_plan() -> RunPlan:
    """The embedded default: every exact engine found, and llama.cpp where it is installed."""
    exact, absent = found(_PREFERRED)
    bounded, more = found(("llama.cpp",))
    return RunPlan(exact=exact, bounded=bounded, absent=(*absent, *more), fault=DEMO_FAULT)


def found(names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Engines that are here, and `name: how to get it` of those that are not."""
    here, absent = [], []
    for name in names:
        state = runner(name).availability()
        if state.available:
            here.append(name)
        else:
            absent.append(f"{name}: {state.reason}; {state.fix}")
    return tuple(here), tuple(absent)


def run_plan(
    source: str, backends: str, cases: str, calibration: str, quant: str, fault: str
) -> RunPlan:
    """The plan of `trlm run`; names are checked before anything is fetched.

    Raises:
        UnknownNameError: an engine or a profile that does not exist.
        SourceSpecError: no form of a source.
    """
    small = source.startswith("synthetic:")
    suites = ("small-judged", "small-calibration") if small else ("demo-judged", "demo-calibration")
    artifacts = tuple(q for q in quant.split(",") if q)
    for name in artifacts:
        if name not in PROFILES:
            raise UnknownNameError(
                where="--quant", kind="profile", name=name, known=", ".join(PROFILES)
            )
    exact, bounded, absent = _engines(backends)
    return RunPlan(
        source=_wherever(source),
        judged=_suite(cases) or suites[0],
        calibration=_suite(calibration) or suites[1],
        artifacts=artifacts,
        exact=exact,
        bounded=bounded,
        absent=absent,
        fault=fault,
    )


def _wherever(source: str) -> str:
    """A source that means the same in every working directory.

    Raises:
        SourceSpecError: no form of a source.
    """
    pin = parse_source(source)
    local = pin.scheme in LOCAL_SCHEMES
    return f"{pin.scheme}:{Path(pin.locator).resolve()}" if local else source


def _suite(cases: str) -> str:
    """A suite's name, or the whole path of a case file."""
    return str(Path(cases).resolve()) if is_case_file(cases) else cases


def _engines(backends: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    if backends == "all":
        exact, absent = found((*_PREFERRED, *_PREFERRED_LANES))
        return exact, (), absent
    names = [name.strip() for name in backends.split(",") if name.strip()]
    for name in names:
        if name not in ENGINES and name.split(":")[0] not in ("process", "reference", "faulty"):
            raise UnknownNameError(
                where="--backends", kind="engine", name=name, known=", ".join(ENGINES)
            )
    exact = tuple(n for n in (*_PREFERRED, *_PREFERRED_LANES) if n in names)
    bounded = tuple(n for n in names if n not in EXACT_PROFILES)
    # The reference engine is always there to be the stored one.
    return exact or ("reference",), bounded, ()
