"""llama.cpp as a third opinion: the families that it converts, and a fault that it sees."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.flows.test_cli import document
from tests.skips import lacking
from tests.tiny_models import write_tiny
from trlm_lab.backends.llama_cpp import LlamaCppRunner
from trlm_lab.backends.llama_cpp_sdist import cached_converter
from trlm_lab.base import canon
from trlm_lab.base.interfaces import Runner
from trlm_lab.base.records.third_opinion import Distance, ThirdOpinion
from trlm_lab.errors import CaseNotSupportedError, OpinionScaleError, UnknownNameError
from trlm_lab.flows.opinion_distance import distance, opinion_rows, rms_of
from trlm_lab.flows.opinion_limits import opinion_limit
from trlm_lab.flows.progress import Board
from trlm_lab.flows.third_opinion import third_opinion

pytestmark = pytest.mark.xdist_group("third_opinion")

#: What llama.cpp asks of each family, beside the tiny model's own fields: no window where it
#: applies none, queries scaled by the head width, heads that share the hidden size.
_NO_WINDOW: dict[str, Any] = {"use_sliding_window": False, "sliding_window": None,
                              "num_hidden_layers": 2}  # fmt: skip
CHANGES: dict[str, dict[str, Any]] = {
    "llama": {},
    "mistral": {"sliding_window": None},
    "qwen2": {**_NO_WINDOW, "head_dim": 12},
    "qwen3": _NO_WINDOW,
    "gemma2": {"query_pre_attn_scalar": 16},
    "gemma3": {"query_pre_attn_scalar": 16},
    "gpt2": {"n_inner": None},
    "olmo2": {"head_dim": 12},
    "phi3": {"hidden_size": 64, "sliding_window": None},
}
#: Longer than the windows of the Gemma models, which llama.cpp has.
IDS = (1, 5, 9, 20, 3, 7, 96, 44, 60, 2, 2, 18, 31, 77)


@pytest.fixture
def peer(require: Callable[[Runner], None]) -> None:
    require(LlamaCppRunner())
    if cached_converter() is None:
        lacking("llama.cpp", "its converter is not in the cache (make peers)")


def cases(tmp_path: Path, *lengths: int) -> str:
    path = tmp_path / "cases.json"
    rows = [{"case_id": f"t{n}", "token_ids": IDS[:n]} for n in lengths]
    path.write_text(json.dumps({"schema": "trlm.process.cases.v1", "cases": rows}))
    return str(path)


@pytest.mark.slow
@pytest.mark.peer
@pytest.mark.parametrize("family", CHANGES)
def test_it_agrees_and_would_have_seen_a_fault(peer: None, tmp_path: Path, family: str) -> None:
    model = write_tiny(family, tmp_path / family, **CHANGES[family])
    found = third_opinion(f"dir:{model}", cases(tmp_path, 14, 1), Board(quiet=True))
    assert found.agrees, found.worst
    assert {row.engine for row in found.distances} == {"torch", "reference"}
    assert all(row.rms >= found.limit.least_rms for row in found.distances)
    if family == "gpt2":
        assert found.fault_seen is None
        assert "rope_pairing" in found.fault
    else:
        assert found.fault_seen, found.planted
        # A single token turns by no angle.
        assert [row.case_id for row in found.planted] == ["t14"]
    assert canon.decode(canon.encode(found.to_map())) == found.to_map()


@pytest.mark.peer
def test_an_engine_with_a_fault_does_not_agree(
    peer: None, tmp_path: Path, capsys: pytest.CaptureFixture[str], tiny_models: Callable[..., Path]
) -> None:
    asked = ["oracle", "third-opinion", f"dir:{tiny_models('llama')}"]
    asked += ["--cases", cases(tmp_path, 14), "--fault", ""]
    out = tmp_path / "opinion.cbor"
    row = document(capsys, [*asked, "--engine", "faulty:norm_weight_missing@0"], 1)
    assert (row["agrees"], row["fault_seen"]) == (False, None)
    row = document(capsys, [*asked, "--out", str(out)], 0)
    assert canon.sha256_hex(out.read_bytes()) == row["record_id"]
    assert [engine["name"] for engine in row["engines"]] == ["llama.cpp", "torch", "reference"]


@pytest.mark.peer
def test_a_case_beyond_a_window_that_it_lacks_is_not_asked(
    peer: None, tmp_path: Path, tiny_models: Callable[..., Path]
) -> None:
    model = f"dir:{tiny_models('mistral')}"
    found = third_opinion(model, cases(tmp_path, 5, 6), Board(quiet=True), fault="")
    assert [row.case_id for row in found.distances] == ["t5", "t5"]
    assert found.agrees
    assert [case for case, reason in found.unasked if "window of 5" in reason] == ["t6"]
    with pytest.raises(CaseNotSupportedError, match="window of 5"):
        third_opinion(model, cases(tmp_path, 6), Board(quiet=True), fault="")


def test_limits_are_data_with_a_source() -> None:
    silu, gelu = opinion_limit("silu"), opinion_limit("gelu_tanh")
    assert silu.source
    assert silu.relative < gelu.relative
    with pytest.raises(UnknownNameError, match="tanh"):
        opinion_limit("tanh")


def test_small_logits_are_not_judged() -> None:
    limit = replace(opinion_limit("silu"), least_rms=0.5)
    assert rms_of(np.full((2, 3), -0.5, np.float32), "a", limit) == 0.5
    for bad in (0.25, np.nan):
        with pytest.raises(OpinionScaleError) as caught:
            rms_of(np.full((2, 3), bad, np.float32), "a", limit)
        assert caught.value.where == "a"


def test_the_table_names_the_farthest_case() -> None:
    limit = opinion_limit("silu")
    ours, theirs = np.eye(4, dtype=np.float32), np.eye(4, dtype=np.float32)
    theirs[3] = (0, 2, 0, 0)
    rows = [distance("torch", "far", ours, theirs, 2.0), distance("torch", "same", ours, ours, 2.0)]
    table = opinion_rows(rows, limit)
    assert [(row["farthest"], row["error/RMS"]) for row in table] == [("far", 1.0)]
    assert table[0]["same greedy token"] == "7 of 8"
    theirs[0, 0] = np.nan
    assert not distance("torch", "a", ours, theirs, 2.0).relative <= limit.relative


def opinion(distances: list[Distance], planted: list[Distance]) -> ThirdOpinion:
    limit = opinion_limit("silu")
    return ThirdOpinion("s", "c", "llama", limit, (), tuple(distances), "f", tuple(planted))


def test_a_nan_is_the_farthest_of_all_and_has_a_record() -> None:
    near, far = (Distance("torch", n, 1, 2.0, x, x / 2, 1) for n, x in (("a", 0.0), ("b", 8.0)))
    nan, inf = (Distance("torch", str(x), 1, 2.0, x, x, 0) for x in (np.nan, np.inf))
    for rows in ([near, nan, far], [nan, near], [near, inf]):
        found = opinion(rows, [])
        assert (found.agrees, found.holds) == (False, False)
        assert found.worst in (nan, inf)
        assert canon.decode(canon.encode(found.to_map())) == found.to_map()
        shown = opinion_rows(rows, found.limit)[0]["farthest"]
        assert shown == found.worst.case_id
    for rows in ([near, nan], [nan, near]):
        assert opinion([near], rows).fault_seen
    assert opinion([near], [near]).fault_seen is False


@pytest.mark.peer
def test_a_fault_that_no_case_can_show_is_said_to_be_none(
    peer: None, tmp_path: Path, tiny_models: Callable[..., Path]
) -> None:
    found = third_opinion(f"dir:{tiny_models('llama')}", cases(tmp_path, 1), Board(quiet=True))
    assert (found.fault_seen, found.planted) == (None, ())
    assert "no case has them" in found.fault
