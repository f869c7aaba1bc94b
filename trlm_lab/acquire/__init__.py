"""Floor 2: from a named source to a verified snapshot in Hugging Face layout."""

from trlm_lab.acquire.approval import Approve
from trlm_lab.acquire.directory_check import DirectoryCheck, check_directory
from trlm_lab.acquire.drift import Drift, FileChange, observe
from trlm_lab.acquire.gguf_snapshot import check_gguf, gguf_documents
from trlm_lab.acquire.hub_limits import HubLimits
from trlm_lab.acquire.hub_snapshot import HubRules
from trlm_lab.acquire.licence import LicenceDecision, load_decision, parse_decision
from trlm_lab.acquire.progress import Progress
from trlm_lab.acquire.safetensors_check import check_safetensors, require_safetensors
from trlm_lab.acquire.snapshot_export import export_snapshot, require_export
from trlm_lab.acquire.snapshot_store import newest_snapshot, verify_snapshot
from trlm_lab.acquire.sources import (
    acquire,
    download_bytes,
    packaged_gguf,
    parse_source,
    recorded_pin,
)
from trlm_lab.acquire.tree_profile import TreeProfile, load_tree_profile, parse_tree_profile

__all__ = [
    "Approve",
    "DirectoryCheck",
    "Drift",
    "FileChange",
    "HubLimits",
    "HubRules",
    "LicenceDecision",
    "Progress",
    "TreeProfile",
    "acquire",
    "check_directory",
    "check_gguf",
    "check_safetensors",
    "download_bytes",
    "export_snapshot",
    "gguf_documents",
    "load_decision",
    "load_tree_profile",
    "newest_snapshot",
    "observe",
    "packaged_gguf",
    "parse_decision",
    "parse_source",
    "parse_tree_profile",
    "recorded_pin",
    "require_export",
    "require_safetensors",
    "verify_snapshot",
]
