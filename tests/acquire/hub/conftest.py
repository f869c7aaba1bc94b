"""A running server with one small model on it, and no way to any other."""

import dataclasses
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from tests.acquire.hub.server import HubServer, Repository
from trlm_lab.acquire.approval import approve_all
from trlm_lab.acquire.hub_limits import HubLimits
from trlm_lab.acquire.hub_snapshot import HubRules, acquire_hub, parse_hub
from trlm_lab.acquire.snapshot_store import snapshots_root
from trlm_lab.base.records import Snapshot

REPO = "ada/tiny"
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
WEIGHTS = save({"w": np.arange(60_000, dtype=np.float32).reshape(200, 300)})
TREE = {
    "config.json": b'{"model_type": "llama"}',
    "generation_config.json": b'{"eos_token_id": 2}',
    "tokenizer.json": json.dumps({"model": {"type": "BPE", "vocab": {}}}).encode(),
    "additional_chat_templates/tools.jinja": b"{{ tools }}",
    "README.md": b"---\nlicense: apache-2.0\n---\n# Tiny\n",
    "LICENSE": b"Apache License, Version 2.0",
    "model.safetensors": WEIGHTS,
    ".gitattributes": b"*.safetensors filter=lfs",
    "picture.png": b"\x89PNG",
}
QUICK = HubLimits(silence_seconds=5.0, seconds=60.0, pause_seconds=0.01, attempts=3)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    server = HubServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf-home"))
    monkeypatch.setenv("TRLM_HOME", str(tmp_path / "home"))
    for name in ("HF_TOKEN", "HF_HUB_CACHE", *PROXIES, *map(str.lower, PROXIES)):
        monkeypatch.delenv(name, raising=False)
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def tiny(hub: HubServer) -> Repository:
    repository = hub.repository(REPO)
    repository.lfs = {"model.safetensors"}
    repository.commit(TREE)
    return repository


def published() -> list[Path]:
    """Snapshots that anybody can see."""
    return [p for p in snapshots_root().glob("*") if not p.name.startswith(".")]


def acquired(locator: str = REPO, rules: HubRules | None = None, **limits: float) -> Snapshot:
    """Acquire with limits that end a test soon."""
    quick = dataclasses.replace(QUICK, **limits)  # type: ignore[arg-type]
    chosen = dataclasses.replace(rules or HubRules(), limits=quick)
    return acquire_hub(parse_hub(locator), lambda *_: None, approve_all, chosen)
