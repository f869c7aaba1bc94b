"""One artifact loaded in one browser; cases run on it one after another."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import wait as wait_for_futures
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trlm_lab.backends.browser.channel import Channel
from trlm_lab.backends.browser.find import Chromium
from trlm_lab.backends.browser.frames import Assembler, digest_from_row
from trlm_lab.backends.browser.host import PageHost
from trlm_lab.backends.browser.identity import identity_of
from trlm_lab.backends.browser.page import Progress
from trlm_lab.backends.browser.problems import error_of
from trlm_lab.backends.browser.resources import ARTIFACT_PATH, resources
from trlm_lab.backends.runtime_source import ORDERS, PROFILE
from trlm_lab.backends.self_hash import admit
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.case_rules import check_case
from trlm_lab.base.records import ArrayDigest, Case, CaseTrace, EngineIdentity, Observation
from trlm_lab.errors import (
    BrowserTimeoutError,
    InfrastructureError,
    SessionBusyError,
    SessionClosedError,
    TransferCorruptError,
)


@dataclass(frozen=True)
class _Run:
    channel: Channel
    work: Future[dict[str, Any]]


class ChromiumSession:
    """The `Session` of `wasm-scalar@chromium`; close it, or use it as a context manager.

    One run at a time: starting another ends the one before it. An infrastructure error closes the
    session, a refused case does not. `artifact_sha256` is the hash of the file, computed by the
    worker from the bytes that it runs. `on_progress(stage, done, total)` may be set; it is called
    from another thread.
    """

    def __init__(
        self,
        name: str,
        chromium: Chromium,
        artifact: Path,
        module: Path,
        idle_limit_s: float,
        *,
        profile: str = PROFILE,
    ) -> None:
        self.on_progress: Progress | None = None
        self.idle_limit_s = idle_limit_s
        self._closed = False
        self._run: _Run | None = None
        admit(artifact)
        self.host = PageHost(chromium, resources(artifact, module))
        try:
            loaded = self._load(artifact, ORDERS[profile])
        except BaseException:
            self.close()
            raise
        self._model: dict[str, Any] = loaded["model"]
        self._identity = identity_of(name, profile, loaded)
        self.artifact_sha256: str = loaded["artifact"]["sha256"]

    def _load(self, artifact: Path, order: int) -> dict[str, Any]:
        given = {"url": ARTIFACT_PATH, "name": artifact.name}
        work = self._command("load", given, {"trusting": True, "order": order})
        # Meanwhile this side learns what the worker's hash must be.
        here = file_sha256(artifact)
        answer = work.result()
        if "problem" in answer:
            raise error_of(answer["problem"])
        loaded: dict[str, Any] = answer["result"]
        there = loaded["artifact"]["sha256"]
        if there != here:
            raise TransferCorruptError(where=str(artifact), got=here, expected=there)
        return loaded

    @property
    def profile(self) -> Path:
        """The browser's temporary profile, which goes when the session closes."""
        return self.host.profile

    @property
    def identity(self) -> EngineIdentity:
        """Browser version, module hash, features."""
        return self._identity

    def run(self, case: Case) -> Iterator[Observation]:
        """`token_ids` (positions and mask where the case gives them), then every checkpoint.

        They come as the worker steps; the hash that the worker computed of each array is compared
        with that of the bytes received.

        Raises:
            TokenRangeError, ContextLengthError, PositionRangeError, MaskValueError,
            AllKeysMaskedError: as `base.case_rules.check_case`.
            TransferCorruptError: bytes changed under way.
            InfrastructureError: the page failed or fell silent.
            SessionBusyError: another run was started meanwhile.
            SessionClosedError: the session is closed.
        """
        self._end_run()
        self._check(case)
        with self._closing_on_failure(), self.host.listening() as (path, channel):
            work = self._command("run", _case_map(case), {"channel": path}, touch=channel.touch)
            work.add_done_callback(channel.end_with)
            self._run = _Run(channel, work)
            assembler = Assembler()
            try:
                for frame in channel.frames(self.idle_limit_s):
                    yield from assembler.feed(frame)
                assembler.finish(_digests(work.result()))
            except GeneratorExit:
                self._end_run()
                raise

    def run_digests(self, case: Case) -> CaseTrace:
        """The digests alone, as the worker computed them; no array leaves the browser.

        Raises as `run` does.
        """
        self._end_run()
        self._check(case)
        with self._closing_on_failure():
            answer = self._command("run", _case_map(case), {}).result()
            arrays = _digests(answer)
        return CaseTrace(case.case_id, case.digest, tuple(arrays))

    def _check(self, case: Case) -> None:
        check_case(case, int(self._model["vocab"]), int(self._model["max_position_embeddings"]))

    def _end_run(self) -> None:
        """End the run that was not consumed to its end, if there is one."""
        if self._closed:
            raise SessionClosedError(where=self._identity.name)
        run, self._run = self._run, None
        if run is None:
            return
        run.channel.end(SessionBusyError(where=self._identity.name))
        # The worker hears of it when it sends its next step.
        if wait_for_futures([run.work], timeout=self.idle_limit_s).not_done:
            self.host.kill()
            self.close()
            raise BrowserTimeoutError(seconds=self.idle_limit_s)

    @contextlib.contextmanager
    def _closing_on_failure(self) -> Iterator[None]:
        try:
            yield
        except (InfrastructureError, KeyboardInterrupt) as error:
            if isinstance(error, BrowserTimeoutError):
                # A browser that hangs does not close either.
                self.host.kill()
            self.close()
            raise

    def _command(
        self, *args: Any, touch: Callable[[], None] | None = None
    ) -> Future[dict[str, Any]]:
        def on_progress(stage: str, done: int, total: int) -> None:
            if touch is not None:
                touch()
            if self.on_progress is not None:
                self.on_progress(stage, done, total)

        # With a channel its consumer watches the clock, for its own slowness is no silence.
        limit = self.idle_limit_s if touch is None else None
        return self.host.command(*args, on_progress=on_progress, idle_limit_s=limit)

    def close(self) -> None:
        """End browser and server. May be called again."""
        self._closed = True
        self.host.close()

    def __enter__(self) -> ChromiumSession:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _digests(answer: dict[str, Any]) -> list[ArrayDigest]:
    if "problem" in answer:
        raise error_of(answer["problem"])
    return [digest_from_row(row) for row in answer["result"]["arrays"]]


def _case_map(case: Case) -> dict[str, Any]:
    return {key: value for key, value in case.to_map().items() if key != "text"}
