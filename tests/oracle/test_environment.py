"""The environment record binds what can change a bit, and nothing that cannot."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trlm_lab.base import canon
from trlm_lab.oracle import environment, environment_record, waiting


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [t for k, v in value.items() for t in (k, *_texts(v))]
    return [str(value)]


def test_it_is_canonical_and_the_same_twice() -> None:
    assert canon.encode(environment_record()) == canon.encode(environment_record())


def test_it_holds_no_place_host_or_user() -> None:
    texts = _texts(environment_record())
    for text in texts:
        assert str(Path.home()) not in text
        assert sys.prefix not in text
        assert platform.node() not in text
        assert not text.startswith("/")


def test_it_binds_versions_sources_threads_and_settings() -> None:
    record = environment_record(threads=1)
    assert record["threads"] == 1
    assert record["packages"]["torch"].startswith("2.")
    assert len(record["sources"]["transformers/models/llama/modeling_llama.py"]) == 64
    assert record["settings"]["deterministic_algorithms"] is True
    assert record["settings"]["mkldnn_matmul_fp32_precision"] == "ieee"
    assert record["settings"]["flush_denormal"] is False
    assert record["cpu_capability"]
    assert record != environment_record(threads=2)


def test_only_listed_variables_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    before = environment_record()
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    assert environment_record() == before
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")
    changed = environment_record()
    assert changed["variables"] == {**before["variables"], "MKL_CBWR": "COMPATIBLE"}


def test_installed_files_differ_by_package() -> None:
    torch_files = environment._installed_files("torch", "torch/", (".so",))
    nothing = environment._installed_files("torch", "no such prefix/", (".so",))
    assert torch_files != nothing == canon.content_id([])


def test_importing_the_room_imports_no_framework() -> None:
    code = (
        "import sys, trlm_lab.oracle as o; r = o.TorchRunner().availability(); "
        "assert r.available; print(sorted({'torch', 'transformers', 'zarr'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_idle_threads_sleep_unless_the_user_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    waiting.wait_passively()
    assert ("OMP_WAIT_POLICY" in os.environ) is ("torch" not in sys.modules)
    monkeypatch.setattr(waiting, "sys", SimpleNamespace(modules={}))
    waiting.wait_passively()
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    waiting.wait_passively()
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"
