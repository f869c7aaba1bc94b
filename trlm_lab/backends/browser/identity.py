"""The identity of the browser engine, from what the page reports about itself."""

from __future__ import annotations

from typing import Any

from trlm_lab.backends.browser.resources import page_files
from trlm_lab.base import canon
from trlm_lab.base.records import EngineIdentity


def _scripts_sha256() -> str:
    """One hash over the page's scripts, which move the bytes and hash them."""
    scripts = {path: file for path, file in page_files().items() if file.suffix == ".js"}
    return canon.content_id({path: canon.sha256_hex(f.read_bytes()) for path, f in scripts.items()})


def identity_of(name: str, profile: str, loaded: dict[str, Any]) -> EngineIdentity:
    """Version, module hash and features; nothing of this machine's addresses or processors."""
    environment = loaded["environment"]
    features = environment["wasm_features"]
    return EngineIdentity(
        name=name,
        version=environment["browser"],
        profile=profile,
        build_sha256=loaded["module"]["sha256"],
        details={
            "build_flags": loaded["module"]["build_flags"],
            "cross_origin_isolated": environment["cross_origin_isolated"],
            "dedicated_worker": environment["dedicated_worker"],
            "engine": environment["engine"],
            "scripts_sha256": _scripts_sha256(),
            "wasm_features": sorted(name for name, has in features.items() if has),
        },
    )
