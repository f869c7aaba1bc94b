"""The oracle on the real SmolLM2-135M-Instruct."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.ladders import llama_ladder
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import Case
from trlm_lab.oracle import TorchRunner, capture_is_faithful, source_defaults

pytestmark = [pytest.mark.model, pytest.mark.slow]

CASE = Case("c", (504, 3575, 282, 4649, 314))


def test_all_thirty_layers_are_captured_faithfully(smollm2_snapshot: Path) -> None:
    capture_is_faithful(smollm2_snapshot, CASE).require()
    with TorchRunner().open(Subject(model_dir=smollm2_snapshot)) as session:
        arrays = {o.name: o.values for o in session.run(CASE)}
    assert list(arrays)[1:-2] == llama_ladder(30)
    assert all(np.isfinite(values).all() for values in arrays.values())
    best = arrays["logits.topk_ids"][:, 0]
    assert np.array_equal(best, arrays["logits"].argmax(axis=1))


def test_defaults_of_the_real_model(smollm2_snapshot: Path) -> None:
    found = source_defaults(smollm2_snapshot)
    assert found["rope_theta"] == 1e5
    assert found["rms_norm_eps"] == float(np.float32(1e-5))
    assert found["attention_scale"] == 0.125
    assert (found["num_attention_heads"], found["num_key_value_heads"]) == (9, 3)
    assert found["tie_word_embeddings"] is True
