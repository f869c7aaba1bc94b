"""Every reader of golden containers, and directories written from drafts."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from tests.golden.readers import GoldenReader, NodeReader, PageReader, PythonReader, RustReader
from tests.golden.sound import Draft
from tests.skips import lacking
from trlm_lab.backends.browser import ChromiumRunner
from trlm_lab.backends.browser.find import find_chromium
from trlm_lab.backends.browser.resources import resources
from trlm_lab.backends.browser.server import PageServer
from trlm_lab.backends.native import NativeRunner
from trlm_lab.base.interfaces import Runner

READERS = ("python", "rust", "node", "chromium")


@pytest.fixture(scope="session")
def golden_page(require: Callable[[Runner], None]) -> Iterator[GoldenReader]:
    require(ChromiumRunner())
    with PageServer(resources()) as server, sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=find_chromium().executable)
        page = opened.new_page()
        page.goto(server.url)
        yield PageReader(page)
        opened.close()


@pytest.fixture(scope="session")
def golden_node() -> Iterator[GoldenReader]:
    if shutil.which("node") is None:
        lacking("node", "none on the path")
    reader = NodeReader()
    yield reader
    reader.close()


@pytest.fixture(scope="session")
def golden_rust(require: Callable[[Runner], None]) -> GoldenReader:
    require(NativeRunner())
    return RustReader()


@pytest.fixture(scope="session")
def reader_named(request: pytest.FixtureRequest) -> Callable[[str], GoldenReader]:
    """A reader by its name; one that is not here skips the test."""

    def find(name: str) -> GoldenReader:
        if name == "python":
            return PythonReader()
        fixture = {"rust": "golden_rust", "node": "golden_node", "chromium": "golden_page"}[name]
        found: GoldenReader = request.getfixturevalue(fixture)
        return found

    return find


def lay(root: Path, data: bytes | None, draft: Draft) -> Path:
    """Write a draft's files and the bytes of its document."""
    (root / "blobs").mkdir(parents=True)
    if data is not None:
        (root / "case.cbor").write_bytes(data)
    for path, content in draft.files.items():
        (root / path).write_bytes(content)
    for path in draft.folders:
        (root / path).mkdir()
    for path, target in draft.links.items():
        (root / path).symlink_to(target)
    return root
