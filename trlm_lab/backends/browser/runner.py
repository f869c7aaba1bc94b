"""The runtime in a dedicated worker of a real browser: `wasm-scalar@chromium` and `wasm-simd`."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from trlm_lab.backends.browser.find import find_chromium
from trlm_lab.backends.browser.resources import resources
from trlm_lab.backends.browser.session import ChromiumSession
from trlm_lab.backends.runtime_source import FORMS, PROFILE
from trlm_lab.backends.wasm_module import MODULES, read_module
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import Availability
from trlm_lab.errors import InfrastructureError, SubjectMissingError

#: Seconds without any sign of life after which the browser is given up.
IDLE_LIMIT_S = 300.0


class ChromiumRunner:
    """The `Runner` named `wasm-scalar@chromium`, or `wasm-simd@chromium` of `lanes16-f32-v1`.

    `module` replaces the committed one of the profile.
    """

    def __init__(
        self,
        profile: str = PROFILE,
        *,
        module: Path | None = None,
        idle_limit_s: float = IDLE_LIMIT_S,
    ) -> None:
        self.profile = profile
        self.name = f"wasm-{FORMS[profile]}@chromium"
        self.module = module or MODULES[profile]
        self.idle_limit_s = idle_limit_s

    def availability(self) -> Availability:
        """Whether Playwright, a browser, the page and the recorded module are here."""
        return self._availability

    @cached_property
    def _availability(self) -> Availability:
        try:
            _, record = read_module(self.module)
            resources(module=self.module)
            chromium = find_chromium()
        except InfrastructureError as error:
            place = f" ({error.where})" if error.where else ""
            return Availability(False, reason=f"{error.detail}{place}", fix=error.remedy)
        module = f"module {record.sha256[:16]} by {record.compiler}"
        return Availability(True, chromium.version, (self.profile, "dedicated worker", module))

    def open(self, subject: Subject) -> ChromiumSession:
        """Start a browser and load the artifact.

        Raises:
            SubjectMissingError: the subject has no artifact.
            InfrastructureError: no browser, no module, or they fail.
            Refused: the artifact is unsound, or holds a model that the runtime does not compute.
        """
        if subject.artifact is None:
            raise SubjectMissingError(where=self.name)
        read_module(self.module)
        return ChromiumSession(
            self.name,
            find_chromium(),
            subject.artifact,
            self.module,
            self.idle_limit_s,
            profile=self.profile,
        )
