"""Errors of the browser engine."""

from __future__ import annotations

from trlm_lab.errors.root import InfrastructureError, UsageError


class BrowserMissingError(InfrastructureError):
    """No browser, or no Playwright to drive it."""

    code = "BROWSER_MISSING"
    rule = "{detail}"
    fix = "run `{command}`, or set TRLM_CHROMIUM to the executable of a Chromium"


class PageMissingError(InfrastructureError):
    """A file of the page, or the WebAssembly module, that is not where it belongs."""

    code = "PAGE_MISSING"
    rule = "the file is missing"
    fix = "use a complete checkout; `make wasm` builds the module"


class PortTakenError(InfrastructureError):
    """A port on which another program listens."""

    code = "PORT_TAKEN"
    rule = "port {port} cannot be had: {detail}"
    fix = "choose another port, or 0 for a free one"


class BrowserStartError(InfrastructureError):
    """A browser that is there and does not start."""

    code = "BROWSER_START"
    rule = "the browser did not start: {detail}"
    fix = "start `{executable} --headless` by hand and see what it lacks"


class BrowserPageError(InfrastructureError):
    """A page that crashed, threw, wrote an error to its console or lost its browser."""

    code = "BROWSER_PAGE"
    rule = "the page failed: {detail}"
    fix = "open the page by hand with `trlm browser` and try the same"


class BrowserTimeoutError(InfrastructureError):
    """A browser that gave no sign of life for too long."""

    code = "BROWSER_TIMEOUT"
    rule = "the browser gave no sign of life for {seconds:g} s"
    fix = "raise the idle limit, or take shorter cases"


class FrameError(InfrastructureError):
    """Bytes from the page that are no frame of observations, or not the ones announced."""

    code = "FRAME"
    rule = "the page sent a malformed frame: {detail}"
    fix = "take page and package from one release"


class TransferCorruptError(InfrastructureError):
    """Bytes that hash to something else on this side than on the other."""

    code = "TRANSFER_CORRUPT"
    rule = "the SHA-256 is {got} here and {expected} in the worker"
    fix = "run again; the bytes changed under way or the file changed during the run"


class SessionClosedError(UsageError):
    """A call on a session that was closed, or that closed itself after a failure."""

    code = "SESSION_CLOSED"
    rule = "the session is closed"
    fix = "open a new session"
