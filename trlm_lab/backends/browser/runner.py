"""The engine `wasm-scalar@chromium`: the scalar runtime in a dedicated worker of a real browser."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from trlm_lab.backends.browser.find import find_chromium
from trlm_lab.backends.browser.resources import MODULE, resources
from trlm_lab.backends.browser.session import ChromiumSession
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import Availability
from trlm_lab.errors import ArtifactNeededError, InfrastructureError

#: Seconds without any sign of life after which the browser is given up.
IDLE_LIMIT_S = 300.0


class ChromiumRunner:
    """Opens packed artifacts in headless Chromium; `module` replaces the committed runtime."""

    name = "wasm-scalar@chromium"

    def __init__(self, *, module: Path = MODULE, idle_limit_s: float = IDLE_LIMIT_S) -> None:
        self.module = module
        self.idle_limit_s = idle_limit_s

    def availability(self) -> Availability:
        """Whether Playwright, a browser, the page and the module are here."""
        return self._availability

    @cached_property
    def _availability(self) -> Availability:
        try:
            resources(module=self.module)
            chromium = find_chromium()
        except InfrastructureError as error:
            return Availability(
                False, reason=f"{error.detail} {error.where}".strip(), fix=error.remedy
            )
        module = f"module {file_sha256(self.module)[:16]}"
        return Availability(True, chromium.version, ("dedicated worker", module))

    def open(self, subject: Subject) -> ChromiumSession:
        """Start a browser and load the artifact.

        Raises:
            ArtifactNeededError: the subject has no artifact.
            EngineRefusedError: the runtime refuses the artifact.
            InfrastructureError: no browser, or it fails.
        """
        if subject.artifact is None:
            raise ArtifactNeededError(engine=self.name)
        return ChromiumSession(
            self.name, find_chromium(), subject.artifact, self.module, self.idle_limit_s
        )
