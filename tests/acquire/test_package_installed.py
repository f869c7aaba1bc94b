"""An installed package that is hostile, damaged, or there several times."""

import hashlib
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from trlm_lab.acquire.package_archive import extract_member
from trlm_lab.acquire.package_installed import copy_installed
from trlm_lab.acquire.pins import PinnedArchive, PinnedFile
from trlm_lab.errors import InstalledMemberError, PackageNotInstalledError

DATA = b"weights"
FILE = PinnedFile("tiny/m.gguf", len(DATA), hashlib.sha256(DATA).hexdigest())
PIN = PinnedArchive("tiny-model", "1.0", FILE)


def install(site: Path, version: str = "1.0", data: bytes = DATA) -> Path:
    """As an installer leaves it; returns the folder of its records."""
    (site / "tiny").mkdir(parents=True, exist_ok=True)
    (site / FILE.name).write_bytes(data)
    info = site / f"tiny_model-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: tiny-model\nVersion: {version}\n")
    return info


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "site").mkdir()
    monkeypatch.syspath_prepend(tmp_path / "site")
    return tmp_path / "site"


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def no_end(path: Path) -> None:
    path.symlink_to("/dev/zero")


def no_text(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\x00")


def another_version(path: Path) -> None:
    path.write_text("Name: tiny-model\nVersion: 9\nVersion: 1.0\n")


def a_folder(path: Path) -> None:
    path.mkdir()


def nothing(path: Path) -> None:
    assert not path.exists()


@pytest.mark.parametrize("make", [a_pipe, no_end, no_text, another_version, a_folder, nothing])
@pytest.mark.parametrize("name", ["METADATA", "RECORD", "direct_url.json"])
def test_what_records_say_changes_nothing(
    site: Path, tmp_path: Path, make: Callable[[Path], None], name: str
) -> None:
    record = install(site) / name
    record.unlink(missing_ok=True)
    make(record)
    copy_installed(PIN, FILE, tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == DATA


def test_a_record_that_leads_out_is_not_followed(site: Path, tmp_path: Path) -> None:
    (install(site) / "RECORD").write_text("tiny/m.gguf/../../../secret,,\n")
    (tmp_path / "secret").write_text("x")
    copy_installed(PIN, FILE, tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == DATA


@pytest.mark.parametrize("make", [a_pipe, no_end, a_folder, nothing])
def test_installed_member(site: Path, tmp_path: Path, make: Callable[[Path], None]) -> None:
    install(site)
    (site / FILE.name).unlink()
    make(site / FILE.name)
    with pytest.raises(InstalledMemberError, match="--force-reinstall") as caught:
        copy_installed(PIN, FILE, tmp_path / "out")
    assert caught.value.where == str(site / FILE.name)


def test_an_editable_install_has_no_files(site: Path, tmp_path: Path) -> None:
    install(site)
    shutil.rmtree(site / "tiny")
    with pytest.raises(InstalledMemberError, match="No such file"):
        copy_installed(PIN, FILE, tmp_path / "out")


def test_of_several_versions_the_pinned_one_is_read(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(site, "2.0", b"another")
    install(tmp_path / "behind")
    with pytest.raises(PackageNotInstalledError, match=r"tiny_model-2\.0\.dist-info"):
        copy_installed(PIN, FILE, tmp_path / "out")
    monkeypatch.syspath_prepend(tmp_path / "behind")
    monkeypatch.syspath_prepend(site)
    copy_installed(PIN, FILE, tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == DATA


def test_a_full_disk_is_no_fault_of_the_package(site: Path, tmp_path: Path) -> None:
    install(site)
    with zipfile.ZipFile(tmp_path / "tiny.whl", "w") as archive:
        archive.writestr(FILE.name, DATA)
    for take in (
        lambda: copy_installed(PIN, FILE, Path("/dev/full")),
        lambda: extract_member(tmp_path / "tiny.whl", FILE, Path("/dev/full")),
    ):
        with pytest.raises(OSError, match="No space left"):
            take()
