"""Watching changes nothing: hooks on equals hooks off, and a difference would be seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trlm_lab.base import canon
from trlm_lab.base.records import Case
from trlm_lab.errors import CaptureUnfaithfulError
from trlm_lab.oracle import capture_is_faithful
from trlm_lab.oracle.loading import quiet_framework
from trlm_lab.oracle.session import TorchSession


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("tokens", [1, 7, 128])
def test_logits_are_the_same_with_hooks_on_and_off(
    model_dir: Path, tokens: int, threads: int
) -> None:
    case = Case("c", tuple(range(tokens)))
    found = capture_is_faithful(model_dir, case, threads)
    assert found.holds
    found.require()


def test_a_case_with_positions_and_a_mask_is_faithful(model_dir: Path) -> None:
    case = Case("c", (9, 8, 7), position_ids=(0, 5, 6), attention_mask=(1, 0, 1))
    assert capture_is_faithful(model_dir, case).holds


def test_capture_unfaithful_error(model_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One unit in the last place of one logit, under capture only, is found."""
    copied = TorchSession._copied

    def nudged(session: TorchSession, name: str, value: Any) -> Any:
        array = copied(session, name, value)
        if name == "logits" and threading_name() == "oracle":
            array[0, 0] = np.nextafter(array[0, 0], np.float32(np.inf))
        return array

    def threading_name() -> str:
        import threading

        return threading.current_thread().name

    monkeypatch.setattr(TorchSession, "_copied", nudged)
    found = capture_is_faithful(model_dir, Case("c", (1, 2, 3)))
    assert not found.holds
    with pytest.raises(CaptureUnfaithfulError):
        found.require()


def test_an_ordinary_call_of_the_framework_gives_these_logits(
    model_dir: Path, session: Any
) -> None:
    """As a user would run it: no explicit positions, no mask, cache on."""
    import torch

    with quiet_framework() as transformers:
        model = transformers.AutoModelForCausalLM.from_pretrained(
            model_dir, dtype=torch.float32, attn_implementation="eager"
        )
    torch.set_num_threads(2)
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([[5, 6, 7, 8]])).logits[0].numpy()
    mine = {o.name: o.values for o in session.run(Case("c", (5, 6, 7, 8)))}["logits"]
    assert canon.array_sha256(mine) == canon.array_sha256(logits)
