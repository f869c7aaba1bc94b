"""One artifact loaded in one browser; cases run on it one after another."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import wait as wait_for_futures
from pathlib import Path
from typing import Any

from trlm_lab.backends.browser.file_hashes import hash_file
from trlm_lab.backends.browser.find import Chromium
from trlm_lab.backends.browser.frames import Assembler, digest_from_row
from trlm_lab.backends.browser.host import PageHost
from trlm_lab.backends.browser.identity import identity_of
from trlm_lab.backends.browser.page import Progress
from trlm_lab.backends.browser.problems import error_of
from trlm_lab.backends.browser.resources import ARTIFACT_PATH, resources
from trlm_lab.base.records import ArrayDigest, Case, CaseTrace, EngineIdentity, Observation
from trlm_lab.errors import InfrastructureError, SessionStateError, TransferCorruptError


class ChromiumSession:
    """The `Session` of `wasm-scalar@chromium`; close it, or use it as a context manager.

    `artifact_sha256` is the hash of the file, computed by the worker from the bytes that it runs.
    `on_progress(stage, done, total)` may be set; it is called from another thread.
    """

    def __init__(
        self, name: str, chromium: Chromium, artifact: Path, module: Path, idle_limit_s: float
    ) -> None:
        self.on_progress: Progress | None = None
        self._idle_limit_s = idle_limit_s
        self._state = "open"
        self._host = PageHost(chromium, resources(artifact, module))
        try:
            loaded = self._load(artifact)
        except BaseException:
            self.close()
            raise
        self._identity = identity_of(name, loaded)
        self.artifact_sha256: str = loaded["artifact"]["sha256"]

    def _load(self, artifact: Path) -> dict[str, Any]:
        given = {"url": ARTIFACT_PATH, "name": artifact.name}
        work = self._command("load", given, {"trusting": True})
        # Meanwhile: what the worker's hash must be, and whether the file keeps its own promises.
        here = hash_file(artifact)
        loaded = _result(work.result())
        there = loaded["artifact"]["sha256"]
        if there != here.file_sha256:
            where = str(artifact)
            raise TransferCorruptError(where=where, got=here.file_sha256, expected=there)
        here.check(str(artifact))
        return loaded

    @property
    def identity(self) -> EngineIdentity:
        """Browser version, module hash, features."""
        return self._identity

    def run(self, case: Case) -> Iterator[Observation]:
        """Every checkpoint of a prefill of `case`, in ladder order, as the worker steps.

        The hash that the worker computed of each array is compared with that of the bytes received.

        Raises:
            EngineRefusedError: the runtime refuses the case.
            TransferCorruptError: bytes changed under way.
            InfrastructureError: the page failed or fell silent; the session is closed.
            SessionStateError: another run is not finished, or the session is closed.
        """
        with self._running(), self._host.listening() as (path, channel):
            work = self._command("run", _case_map(case), {"channel": path}, touch=channel.touch)
            work.add_done_callback(lambda done: channel.end(_failure(done)))
            assembler = Assembler()
            try:
                for frame in channel.frames(self._idle_limit_s):
                    yield from assembler.feed(frame)
                assembler.finish(_digests(_result(work.result())))
            except GeneratorExit:
                # The consumer left: the worker hears it at its next frame and stops.
                channel.close()
                wait_for_futures([work], timeout=self._idle_limit_s)
                raise

    def run_digests(self, case: Case) -> CaseTrace:
        """The digests alone, as the worker computed them; no array leaves the browser.

        Raises as `run` does.
        """
        with self._running():
            work = self._command("run", _case_map(case), {})
            arrays = _digests(_result(work.result()))
        return CaseTrace(case.case_id, case.digest, tuple(arrays))

    @contextlib.contextmanager
    def _running(self) -> Iterator[None]:
        if self._state != "open":
            raise SessionStateError(state=self._state)
        self._state = "running a case"
        try:
            yield
        except (InfrastructureError, KeyboardInterrupt):
            self.close()
            raise
        finally:
            if self._state != "closed":
                self._state = "open"

    def _command(
        self, *args: Any, touch: Callable[[], None] | None = None
    ) -> Future[dict[str, Any]]:
        def on_progress(stage: str, done: int, total: int) -> None:
            if touch is not None:
                touch()
            if self.on_progress is not None:
                self.on_progress(stage, done, total)

        # With a channel its consumer watches the clock, for its own slowness is no silence.
        limit = self._idle_limit_s if touch is None else None
        return self._host.command(*args, on_progress=on_progress, idle_limit_s=limit)

    def close(self) -> None:
        """End browser and server. May be called again."""
        self._state = "closed"
        self._host.close()

    def __enter__(self) -> ChromiumSession:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _case_map(case: Case) -> dict[str, Any]:
    return {key: value for key, value in case.to_map().items() if key != "text"}


def _failure(done: Future[Any]) -> BaseException | None:
    return None if done.cancelled() else done.exception()


def _result(answer: dict[str, Any]) -> dict[str, Any]:
    if "problem" in answer:
        raise error_of(answer["problem"])
    result: dict[str, Any] = answer["result"]
    return result


def _digests(result: dict[str, Any]) -> list[ArrayDigest]:
    return [digest_from_row(row) for row in result["arrays"]]
