"""Published tokenizers in the cache: their files, or why a test cannot have them."""

from pathlib import Path

from tests.skips import lacking
from trlm_lab.acquire.tokenizer_data import SCRIPT, tokenizer_packages


def published(package: str, name: str) -> Path:
    """A file of a pinned package; skipped without it, failed where it is demanded."""
    found = tokenizer_packages()[package]
    if not found.is_here:
        lacking("tokenizer-data", f"{SCRIPT} {package}")
    return found.path(name)


def names(package: str, ending: str) -> list[str]:
    """Names of the files of a package that end so, or have it within."""
    return [name for name in tokenizer_packages()[package].files if ending in name]
