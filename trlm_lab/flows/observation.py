"""When and on what machine a run was judged; beside the receipts, never in an identity."""

from __future__ import annotations

import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from trlm_lab import __version__
from trlm_lab.base.blobs import write_atomically

OBSERVATION_FILE = "observation.json"

#: Features of a processor that change how float32 or int8 is computed, as Linux names them.
_TELLING = frozenset(
    ("sse4_2", "avx", "avx2", "fma", "f16c", "avx_vnni", "amx_tile", "amx_bf16", "amx_int8",
     "avx512f", "avx512bw", "avx512_bf16", "avx512_fp16", "avx512_vnni",
     "neon", "asimd", "asimdhp", "asimddp", "sve", "sve2", "bf16", "i8mm")
)  # fmt: skip


def observe(out: Path) -> dict[str, Any]:
    """Write `observation.json` into a run's directory; returns what it holds.

    No node refers to it; the list of files in the receipt's root does, so that a changed one is
    found.
    """
    row = {
        "schema": "trlm.observation.v1",
        "at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "trlm_lab": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        **processor(),
    }
    text = json.dumps(row, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    write_atomically(out / OBSERVATION_FILE, text.encode())
    return row


def processor(source: Path = Path("/proc/cpuinfo")) -> dict[str, Any]:
    """Model, telling features and count of processors; what the system does not say is empty."""
    facts: dict[str, str] = {}
    try:
        text = source.read_text(errors="replace")
    except OSError:
        text = ""
    for line in text.splitlines():
        key, _, value = line.partition(":")
        facts.setdefault(key.strip().lower(), value.strip())
    flags = facts.get("flags") or facts.get("features") or ""
    return {
        "cpu": facts.get("model name") or platform.processor() or platform.machine(),
        "cpu_features": sorted(_TELLING & set(flags.split())),
        "cpus": os.cpu_count() or 0,
    }
