"""The page's server: a closed table of files, ranges, isolation headers, strangers turned away."""

import http.client
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from trlm_lab.backends.browser.byte_range import parse_range
from trlm_lab.backends.browser.frames import FRAME_LIMIT
from trlm_lab.backends.browser.resources import page_files, resources
from trlm_lab.backends.browser.server import PageServer
from trlm_lab.errors import PageMissingError, PortTakenError

CONTENT = bytes(range(256)) * 40


@pytest.fixture
def artifact(tmp_path: Path) -> Path:
    path = tmp_path / "some model.slm"
    path.write_bytes(CONTENT)
    (tmp_path / "secret.txt").write_text("not for the page")
    return path


@pytest.fixture
def server(artifact: Path) -> Iterator[PageServer]:
    with PageServer(resources(artifact, module=artifact)) as running:
        yield running


def ask(
    server: PageServer, path: str, method: str = "GET", body: bytes | None = None, **headers: str
) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, sent)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response, content


def test_the_page_is_isolated(server: PageServer) -> None:
    response, content = ask(server, "/")
    assert response.status == 200
    assert b"<!doctype html>" in content
    assert response.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert response.headers["Cross-Origin-Embedder-Policy"] == "require-corp"
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]


def test_types_of_module_and_scripts(server: PageServer) -> None:
    module, _ = ask(server, "/runtime/trlm.wasm")
    script, _ = ask(server, "/src/worker.js")
    assert module.headers["Content-Type"] == "application/wasm"
    assert script.headers["Content-Type"].startswith("text/javascript")


def test_whole_artifact_and_its_name(server: PageServer) -> None:
    response, content = ask(server, "/artifact.slm")
    assert (response.status, content) == (200, CONTENT)
    _, told = ask(server, "/served.json")
    assert json.loads(told) == {"artifact": {"url": "/artifact.slm", "name": "some model.slm"}}


def test_a_range_of_the_artifact(server: PageServer) -> None:
    response, content = ask(server, "/artifact.slm", Range="bytes=100-299")
    assert (response.status, content) == (206, CONTENT[100:300])
    assert response.headers["Content-Range"] == f"bytes 100-299/{len(CONTENT)}"


def test_head_tells_the_length_and_sends_nothing(server: PageServer) -> None:
    response, content = ask(server, "/artifact.slm", "HEAD")
    assert (response.status, content) == (200, b"")
    assert response.headers["Content-Length"] == str(len(CONTENT))


def test_a_range_beyond_the_end_is_refused(server: PageServer) -> None:
    response, _ = ask(server, "/artifact.slm", Range=f"bytes={len(CONTENT)}-")
    assert response.status == 416
    assert response.headers["Content-Range"] == f"bytes */{len(CONTENT)}"


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/src/../../secret.txt",
        "/src/..%2f..%2fsecret.txt",
        "/%2e%2e/secret.txt",
        "//etc/passwd",
        "/secret.txt",
        "/src",
        "/src/",
        "/artifact.slm/",
        "/src/worker.js%00",
    ],
)
def test_nothing_else_can_be_reached(server: PageServer, path: str) -> None:
    response, content = ask(server, path)
    assert response.status == 404
    assert content == b""


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Origin": "http://evil.example"},
    ],
)
def test_strangers_are_turned_away(server: PageServer, headers: dict[str, str]) -> None:
    assert ask(server, "/artifact.slm", **headers)[0].status == 403
    with server.listening() as (path, _):
        assert ask(server, path, "POST", b"x", **headers)[0].status == 403


def test_frames_reach_their_channel(server: PageServer) -> None:
    with server.listening() as (path, channel):
        response, content = ask(server, path, "POST", b"frame")
        assert (response.status, json.loads(content)) == (200, {"more": True})
        channel.end()
        assert list(channel.frames(5.0)) == [bytearray(b"frame")]


def test_a_consumer_that_left_is_told(server: PageServer) -> None:
    with server.listening() as (path, channel):
        channel.close()
        _, content = ask(server, path, "POST", b"frame")
        assert json.loads(content) == {"more": False}


def test_no_channel_no_post(server: PageServer) -> None:
    with server.listening() as (path, _):
        pass
    assert ask(server, path, "POST", b"frame")[0].status == 403
    assert ask(server, "/", "POST", b"frame")[0].status == 403


def test_frames_have_a_limit(server: PageServer) -> None:
    with server.listening() as (path, _):
        for length in (str(FRAME_LIMIT + 1), "-1", "many", ""):
            assert ask(server, path, "POST", Content_Length=length)[0].status == 413


def test_closing_ends_open_connections(artifact: Path) -> None:
    server = PageServer(resources(artifact, module=artifact))
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.request("GET", "/")
    connection.getresponse().read()
    server.close()
    assert connection.sock.recv(1) == b""
    connection.close()


def test_a_taken_port_is_named(server: PageServer, artifact: Path) -> None:
    with pytest.raises(PortTakenError, match=f"port {server.server_port} cannot be had"):
        PageServer(resources(artifact, module=artifact), port=server.server_port)


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(PageMissingError, match=r"module\.wasm"):
        resources(module=tmp_path / "module.wasm")
    with pytest.raises(PageMissingError, match=r"index\.html"):
        page_files(tmp_path)


@pytest.mark.parametrize(
    ("header", "span"),
    [
        (None, (0, 1000, False)),
        ("bytes=0-0", (0, 1, True)),
        ("bytes=990-5000", (990, 1000, True)),
        ("bytes=10-", (10, 1000, True)),
        ("bytes=-10", (990, 1000, True)),
        ("bytes=-5000", (0, 1000, True)),
        ("bytes=5-4", (0, 1000, False)),
        ("bytes=-", (0, 1000, False)),
        ("bytes=0-1,5-6", (0, 1000, False)),
        ("lines=0-1", (0, 1000, False)),
        ("bytes=١-٢", (0, 1000, False)),
    ],
)
def test_ranges(header: str | None, span: tuple[int, int, bool]) -> None:
    found = parse_range(header, 1000)
    assert found is not None
    assert (found.start, found.stop, found.partial) == span


@pytest.mark.parametrize("header", ["bytes=1000-", "bytes=2000-3000", "bytes=-0"])
def test_unsatisfiable_ranges(header: str) -> None:
    assert parse_range(header, 1000) is None
