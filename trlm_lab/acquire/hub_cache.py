"""Bytes that the Hub's client already has: used where they are the listed ones, never trusted."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from trlm_lab.acquire.hub_fetch import PART, is_whole
from trlm_lab.acquire.hub_tree import HubFile

USED = "taken from the client's cache after hashing"
CHANGED = "the client's cache holds other bytes under this name; fetched anew"


def take_cached(repo: str, commit: str, file: HubFile, out: Path) -> str:
    """Copy the client's cached file to `out` if it is the listed one; says what was found.

    Empty where the cache has no such file.
    """
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(repo, file.path, cache_dir=cache_root(), revision=commit)
    if not isinstance(found, str) or not Path(found).is_file():
        return ""
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(out.name + PART + "-cached")
    shutil.copyfile(found, part)
    # The copy is what is hashed: the cached file may change meanwhile.
    if not is_whole(part, file):
        part.unlink()
        return CHANGED
    part.replace(out)
    return USED


def cache_root() -> Path:
    """Where the client caches, by its own variables, read now and not at its import."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    return Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
