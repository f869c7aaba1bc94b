"""The engine `wasm-scalar@chromium` and the server of its page; the one place for Playwright."""

from trlm_lab.backends.browser.hand_server import serve
from trlm_lab.backends.browser.runner import ChromiumRunner
from trlm_lab.backends.browser.session import ChromiumSession

__all__ = ["ChromiumRunner", "ChromiumSession", "serve"]
