"""Note what set-up installed, and tell later whether all of it is still there.

`installed.py record` writes the names of the installed packages into the environment;
`installed.py check` prints the first that lacks a file and exits with 1. Standard library only.
"""

from __future__ import annotations

import csv
import sys
from importlib import metadata
from pathlib import Path

LIST = Path(sys.prefix) / "installed.txt"


def record() -> None:
    """Write the names of all installed packages."""
    LIST.write_text("".join(f"{name}\n" for name in sorted(installed())), encoding="utf-8")


def installed() -> set[str]:
    """Names of the packages that have metadata."""
    return {name for name in (d.name for d in metadata.distributions()) if name}


def damage() -> str | None:
    """What is missing of the recorded packages, in words, or None."""
    for name in LIST.read_text(encoding="utf-8").split():
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            return f"the package {name} is gone"
        # From 3.12 on `files` leaves out what is missing; the record itself names it.
        record = distribution.read_text("RECORD")
        if record is None:
            return f"the package {name} is half installed"
        files = (row[0] for row in csv.reader(record.splitlines()) if row)
        missing = next((f for f in files if not is_there(distribution, f)), None)
        if missing is not None:
            return f"the package {name} lacks {missing}"
    return None


def is_there(distribution: metadata.Distribution, file: str) -> bool:
    """Whether a listed file exists; compiled caches come and go."""
    return file.endswith(".pyc") or Path(str(distribution.locate_file(file))).exists()


def main(argument: str) -> int:
    """Returns the exit status."""
    if argument == "record":
        record()
        return 0
    found = damage()
    if found is not None:
        print(found)
    return int(found is not None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
