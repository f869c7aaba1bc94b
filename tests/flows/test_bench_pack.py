"""`trlm bench pack` on small matrices: what is compared, what is shown."""

from collections.abc import Callable

import numpy as np
import pytest

from trlm_lab.backends.llama_cpp import LlamaCppRunner
from trlm_lab.backends.native import NativeRunner
from trlm_lab.base.interfaces import Runner
from trlm_lab.flows import bench_pack as bench


def test_both_sides_are_measured(
    monkeypatch: pytest.MonkeyPatch, require: Callable[[Runner], None]
) -> None:
    require(NativeRunner())
    require(LlamaCppRunner())
    matrix = np.random.default_rng(1).standard_normal((12, 256), np.float32)
    monkeypatch.setattr(bench, "_matrix", lambda name: matrix)
    monkeypatch.setattr(bench, "NORMAL", (16, 512))
    rows = bench.bench_pack(rounds=1)
    assert len(rows) == 2 * (len(bench.ROUNDED) + len(bench.SEARCHED) + 2 * len(bench.DECODED))
    for row in rows:
        same, _, count, _ = row["as the reference"].split()
        assert same == count
        assert row["ours"] > 0
        assert row["theirs"] > 0
    peers = {row["peer"]: row["target"] for row in rows}
    assert peers == {
        "llama.cpp Q4_0": 1.0, "llama.cpp Q5_0": 1.0, "llama.cpp Q8_0": 1.0, "llama.cpp Q6_K": 1.0,
        "memcpy": 0.6,
    }  # fmt: skip


def test_other_bytes_are_counted() -> None:
    form = bench.GROUPED["q4_g64"]
    matrix = np.ones((4, 64), np.float32)
    codes, scales = (
        np.frombuffer(p, np.uint8).reshape(4, -1).copy() for p in form.quantize(matrix)
    )
    assert bench._same_rows(form, matrix, (codes, scales)) == "4 of 4 rows"
    codes[2, 5] ^= 1
    assert bench._same_rows(form, matrix, (codes, scales)) == "3 of 4 rows"


def test_turns_are_taken() -> None:
    calls: list[str] = []
    seconds = bench._turns((lambda: calls.append("a"), lambda: calls.append("b")), 2)
    assert calls == ["a", "b"] * 3
    assert [len(side) for side in seconds] == [2, 2]
