"""The output directory of a run: receipt store, traces, figures, and what can be reused.

`state/<stage>.json` remembers the key of a finished stage (a content id over all its inputs) and
the blob with its result; a result is reused only where the key is the same and the blob's hash
still holds. Whoever reuses arrays re-verifies them too.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trlm_lab import __version__
from trlm_lab.base import canon
from trlm_lab.base.blobs import write_atomically
from trlm_lab.errors import TrlmError
from trlm_lab.flows.progress import Board
from trlm_lab.receipts import ReceiptStore

if TYPE_CHECKING:
    from trlm_lab.acquire import HubRules
    from trlm_lab.describe import Resolution


@dataclass
class Workspace:
    """Paths and stores of one run.

    `fresh` refuses every reuse; `trusted` reuses stored arrays without hashing them again.
    `resolutions` settle conflicts between the declarations of the source, `rules` are what was
    reviewed about the repository that it is.
    """

    out: Path
    board: Board = field(default_factory=lambda: Board(quiet=True))
    fresh: bool = False
    trusted: bool = False
    reused: list[str] = field(default_factory=list)
    resolutions: tuple[Resolution, ...] = ()
    rules: HubRules | None = None

    def __post_init__(self) -> None:
        # Kernels and workers may run elsewhere: a relative path would mean another place there.
        self.out = self.out.resolve()
        self.out.mkdir(parents=True, exist_ok=True)
        self.store = ReceiptStore(self.out)

    @property
    def traces(self) -> Path:
        """Where stored traces lie."""
        return self.out / "traces"

    @property
    def figures(self) -> Path:
        """Where figures and their tables lie."""
        return self.out / "figures"

    @property
    def notebooks(self) -> Path:
        """Where executed notebooks lie."""
        return self.out / "notebooks"

    def _state(self, stage: str) -> Path:
        return self.out / "state" / f"{stage}.json"

    def recall(self, stage: str, inputs: dict[str, Any]) -> Any | None:
        """The remembered result of a stage with exactly these inputs, its hash checked; or None."""
        path = self._state(stage)
        if self.fresh or not path.exists():
            return None
        try:
            row = json.loads(path.read_text())
            if row["key"] != self._key(stage, inputs):
                return None
            value = self.store.get_value(row["value_blob"])
        except (ValueError, KeyError, TypeError, TrlmError):
            # A damaged memory is no evidence: the stage simply runs again.
            return None
        self.reused.append(stage)
        return value

    def remember(self, stage: str, inputs: dict[str, Any], value: Any) -> Any:
        """Store a result under its inputs; returns the value."""
        row = {"key": self._key(stage, inputs), "value_blob": self.store.put_value(value)}
        write_atomically(self._state(stage), (json.dumps(row, indent=1) + "\n").encode())
        return value

    def once(self, stage: str, inputs: dict[str, Any], make: Callable[[], Any]) -> Any:
        """Recall, or make and remember."""
        found = self.recall(stage, inputs)
        return found if found is not None else self.remember(stage, inputs, make())

    def _key(self, stage: str, inputs: dict[str, Any]) -> str:
        return canon.content_id({"stage": stage, "version": __version__, "inputs": inputs})

    def drop(self, path: Path) -> None:
        """Remove a directory that cannot be reused (another subject, or damaged)."""
        shutil.rmtree(path, ignore_errors=True)
