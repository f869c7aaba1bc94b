"""Captures of every family, of long cases, and by statistics first: what the trace holds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.tiny_models import FAMILIES, write_tiny
from trlm_lab.base.interfaces import LendingSession, Subject
from trlm_lab.base.names import is_checkpoint
from trlm_lab.base.records import Case
from trlm_lab.oracle import TorchRunner
from trlm_lab.traces import Keeping, TraceStore, TraceWriter, statistics_of


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_in_few_files(
    tiny_models: Callable[[str], Path], tmp_path: Path, family: str
) -> None:
    case = Case("c", (3, 1, 4, 1, 5))
    figures = Keeping(statistics=True)
    with TorchRunner().open(Subject(model_dir=tiny_models(family))) as session:
        assert isinstance(session, LendingSession)
        seen = {o.name: o.values for o in session.run(case)}
        for name, keeping in (("whole", Keeping()), ("figures", figures)):
            writer = TraceWriter(tmp_path / name, session.identity, {}, keeping=keeping)
            writer.write_case(case, partial(session.observe, case))
    store = TraceStore(tmp_path / "whole")
    store.verify()
    assert store.names("c") == tuple(seen)
    assert all(np.array_equal(store.read("c", name), seen[name]) for name in seen)
    assert sum(path.is_file() for path in (store.path / "c").rglob("*")) < 100
    store = TraceStore(tmp_path / "figures")
    assert store.summarised("c") == tuple(filter(is_checkpoint, seen))
    for name in store.summarised("c"):
        assert list(store.statistics("c", name).values()) == statistics_of(seen[name]).tolist()


def test_a_long_case_keeps_picked_squares(tmp_path: Path) -> None:
    model = write_tiny("llama", tmp_path / "model", max_position_embeddings=1024)
    case = Case("long", tuple(i % 90 for i in range(600)))
    with TorchRunner().open(Subject(model_dir=model)) as session:
        writer = TraceWriter(tmp_path / "t", session.identity, {})
        writer.write_case(case, partial(session.observe, case))
        wanted = {o.name: o.values for o in session.run(case) if "attn_masked" in o.name}
    store = TraceStore(tmp_path / "t")
    store.verify()
    for name, square in wanted.items():
        pick = store.pick("long", name)
        assert pick is not None
        assert (pick.heads, pick.rows[-1]) == ((0, 3), 599)
        assert np.array_equal(store.read("long", name), pick.of(square))
        assert list(store.statistics("long", name).values()) == statistics_of(square).tolist()
