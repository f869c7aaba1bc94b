"""Floor 2: from a named source to a verified snapshot in Hugging Face layout."""

from trlm_lab.acquire.gguf_snapshot import check_gguf
from trlm_lab.acquire.progress import Progress
from trlm_lab.acquire.safetensors_check import check_safetensors, require_safetensors
from trlm_lab.acquire.snapshot_store import verify_snapshot
from trlm_lab.acquire.sources import (
    acquire,
    download_bytes,
    export_snapshot,
    packaged_gguf,
    parse_source,
)

__all__ = [
    "Progress",
    "acquire",
    "check_gguf",
    "check_safetensors",
    "download_bytes",
    "export_snapshot",
    "packaged_gguf",
    "parse_source",
    "require_safetensors",
    "verify_snapshot",
]
