"""What a session yields: the whole ladder, in shape, in order, for the inputs of the case."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.ladders import llama_ladder
from trlm_lab.base.interfaces import Runner, Session, Subject
from trlm_lab.base.names import parse_checkpoint
from trlm_lab.base.records import Case
from trlm_lab.errors import (
    AllKeysMaskedError,
    CaptureError,
    ContextLengthError,
    MaskValueError,
    OracleMissingError,
    OracleModelError,
    PositionRangeError,
    TokenRangeError,
    UsageError,
)
from trlm_lab.oracle import TorchRunner, environment
from trlm_lab.traces import hash_only

Arrays = dict[str, NDArray[Any]]
MIN = np.finfo(np.float32).min


def test_the_whole_ladder_comes_in_order(captured: Arrays) -> None:
    assert list(captured) == [
        "token_ids",
        *llama_ladder(4),
        "logits.topk_ids",
        "logits.topk_values",
    ]


def test_shapes_and_dtypes_are_those_of_the_checkpoints(captured: Arrays) -> None:
    sizes = {"T": 24, "S": 24, "D": 96, "H": 6, "K": 2, "E": 16, "F": 256, "V": 512}
    sizes |= {"HE": 96, "KE": 32}
    for name in llama_ladder(4):
        shape = tuple(sizes[axis] for axis in parse_checkpoint(name).axes)
        assert (captured[name].shape, captured[name].dtype) == (shape, np.float32), name
        # The logits are handed over in the memory in which the source made them.
        assert captured[name].flags.owndata or name == "logits"
    assert captured["logits.topk_ids"].shape == (24, 64)


def test_residual_stream_is_one_float32_addition(captured: Arrays) -> None:
    stream = captured["embedding"]
    for layer in range(4):
        at = {op: captured[f"layers.{layer}.{op}"] for op in ("input", "o_proj", "down_proj")}
        assert np.array_equal(at["input"], stream)
        residual = captured[f"layers.{layer}.attn_residual"]
        assert np.array_equal(residual, at["input"] + at["o_proj"])
        stream = captured[f"layers.{layer}.output"]
        assert np.array_equal(stream, residual + at["down_proj"])


def test_masked_entries_are_the_future_and_nothing_else(captured: Arrays) -> None:
    future = np.triu(np.ones((24, 24), dtype=bool), 1)
    for layer in range(4):
        scores, masked, probs = (
            captured[f"layers.{layer}.{op}"] for op in ("attn_scores", "attn_masked", "attn_probs")
        )
        assert (masked[:, future] == MIN).all()
        assert np.array_equal(masked[:, ~future], scores[:, ~future])
        assert np.abs(scores[:, future]).max() > 0
        assert not probs[:, future].view(np.uint32).any()


def test_one_token_has_every_checkpoint(session: Any) -> None:
    arrays = {o.name: o.values for o in session.run(Case("one", (5,)))}
    assert list(arrays)[1:-2] == llama_ladder(4)
    assert (arrays["layers.2.attn_probs"] == 1).all()


def test_position_ids_are_honoured_as_positions_only(session: Any) -> None:
    """A jump does not hide earlier keys, and only relative positions reach the scores."""
    case = Case("jump", (5, 6, 7), position_ids=(3, 4, 90))
    arrays = {o.name: o.values for o in session.run(case)}
    assert arrays["position_ids"].tolist() == [3, 4, 90]
    plain = {o.name: o.values for o in session.run(Case("plain", (5, 6, 7)))}
    assert np.array_equal(arrays["layers.0.q_proj"], plain["layers.0.q_proj"])
    assert not np.array_equal(arrays["layers.0.q_rope"], plain["layers.0.q_rope"])
    hidden = arrays["layers.0.attn_masked"][0] == MIN
    assert np.array_equal(hidden, np.triu(np.ones((3, 3), dtype=bool), 1))


def test_the_default_positions_and_mask_change_no_bit(session: Any) -> None:
    spelled = Case("x", (5, 6, 7), position_ids=(0, 1, 2), attention_mask=(1, 1, 1))
    with_both = {o.name: o.values for o in session.run(spelled)}
    for observation in session.run(Case("x", (5, 6, 7))):
        assert np.array_equal(with_both[observation.name], observation.values)


def test_attention_mask_hides_its_keys(session: Any) -> None:
    case = Case("hole", (5, 6, 7, 8), attention_mask=(1, 0, 1, 1))
    arrays = {o.name: o.values for o in session.run(case)}
    assert arrays["attention_mask"].tolist() == [1, 0, 1, 1]
    expected = np.triu(np.ones((4, 4), dtype=bool), 1)
    expected[:, 1] = True
    assert np.array_equal(arrays["layers.3.attn_masked"][5] == MIN, expected)


@pytest.mark.parametrize(
    ("case", "error"),
    [
        (Case("c", (1, 512)), TokenRangeError),
        (Case("c", (1,) * 257), ContextLengthError),
        (Case("c", (1, 2), position_ids=(0, -1)), PositionRangeError),
        (Case("c", (1, 2), position_ids=(0, 256)), PositionRangeError),
        (Case("c", (1, 2), attention_mask=(1, 2)), MaskValueError),
        (Case("c", (1, 2), attention_mask=(0, 1)), AllKeysMaskedError),
    ],
)
def test_a_case_beyond_the_model_is_refused(
    session: Any, case: Case, error: type[Exception]
) -> None:
    with pytest.raises(error):
        next(session.run(case))


def test_a_closed_session_says_so(model_dir: Path) -> None:
    with TorchRunner().open(Subject(model_dir=model_dir)) as session:
        assert isinstance(session, Session)
    with pytest.raises(UsageError, match="closed"):
        next(session.run(Case("c", (1,))))


def test_arrays_belong_to_the_receiver(session: Any, long_case: Case) -> None:
    expected = hash_only(long_case, session.run(long_case))
    for observation in session.run(long_case):
        observation.values[...] = 0
    assert hash_only(long_case, session.run(long_case)) == expected


def test_a_reader_who_writes_to_the_logits_changes_nothing_behind_them(session: Any) -> None:
    case = Case("c", (5, 6, 7))
    alone = {o.name: o.values for o in session.steps(case, 3)}
    for observation in session.steps(case, 3):
        assert np.array_equal(observation.values, alone[observation.name])
        observation.values[...] = 0


def test_a_reader_may_leave_early(session: Any, long_case: Case) -> None:
    before = threading.active_count()
    stream = session.run(long_case)
    assert [next(stream).name for _ in range(3)] == ["token_ids", "embedding", "layers.0.input"]
    stream.close()
    assert threading.active_count() == before


def test_bits_do_not_depend_on_who_else_computes(model_dir: Path, long_case: Case) -> None:
    """Runs in lockstep and in parallel, with one and two threads, give the bits of lone runs."""
    runners = [TorchRunner(threads=1), TorchRunner(threads=2)]
    sessions = [r.open(Subject(model_dir=model_dir)) for r in runners]
    alone = [hash_only(long_case, s.run(long_case)) for s in sessions]
    streams = [s.run(long_case) for s in sessions for _ in range(2)]
    lockstep = list(zip(*zip_longest(*streams), strict=True))
    found = [hash_only(long_case, column) for column in lockstep]
    assert found == [alone[0], alone[0], alone[1], alone[1]]
    with ThreadPoolExecutor(4) as pool:
        jobs = [
            pool.submit(lambda s: hash_only(long_case, s.run(long_case)), sessions[i % 2])
            for i in range(8)
        ]
    assert [job.result() for job in jobs] == [alone[i % 2] for i in range(8)]


def test_capture_error_for_another_attention(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A source that scales the queries before the product is not the one that is known."""
    import torch
    from transformers.models.llama import modeling_llama

    def other(module: Any, query: Any, key: Any, value: Any, mask: Any, **kwargs: Any) -> Any:
        keys = modeling_llama.repeat_kv(key, module.num_key_value_groups)
        values = modeling_llama.repeat_kv(value, module.num_key_value_groups)
        weights = torch.matmul(query * module.scaling, keys.transpose(2, 3)) + mask
        weights = torch.softmax(weights, dim=-1)
        return torch.matmul(weights, values).transpose(1, 2).contiguous(), weights

    monkeypatch.setattr(modeling_llama, "eager_attention_forward", other)
    with pytest.raises(CaptureError, match="mul was due") as caught:
        list(session.run(Case("c", (1, 2, 3))))
    assert caught.value.where == "layers.0.attn_scores"


def test_capture_error_for_a_module_that_does_not_run(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = session._model.model.layers[1]
    monkeypatch.setattr(layer, "forward", lambda hidden_states, **kwargs: hidden_states)
    with pytest.raises(CaptureError, match=r"layers\.1\.attn_norm was due") as caught:
        list(session.run(Case("c", (1, 2, 3))))
    assert caught.value.where == "layers.1.output"


def test_capture_error_for_a_failure_inside_the_framework(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(session._model.model.norm, "forward", fails)
    with pytest.raises(CaptureError, match="RuntimeError: out of memory"):
        list(session.run(Case("c", (1, 2, 3))))


def test_the_runner_is_one_and_says_what_is_here() -> None:
    runner = TorchRunner(threads=1)
    assert isinstance(runner, Runner)
    here = runner.availability()
    assert here.available
    assert "threads=1" in here.features
    assert "torch 2" in here.version


def test_oracle_missing_error(monkeypatch: pytest.MonkeyPatch, model_dir: Path) -> None:
    def missing(name: str) -> str:
        raise environment.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(environment.metadata, "version", missing)
    environment.package_version.cache_clear()
    assert not TorchRunner().availability().available
    assert "trlm-lab[oracle]" in TorchRunner().availability().fix
    with pytest.raises(OracleMissingError, match="transformers is not installed"):
        TorchRunner().open(Subject(model_dir=model_dir))


def test_a_subject_without_a_model_directory_is_refused() -> None:
    with pytest.raises(OracleModelError, match="names no model directory"):
        TorchRunner().open(Subject())


def test_identity_binds_threads_and_sources(session: Any, model_dir: Path) -> None:
    other = TorchRunner(threads=1).open(Subject(model_dir=model_dir)).identity
    assert session.identity.details["threads"] == 2
    assert other.details["threads"] == 1
    assert other.build_sha256 == session.identity.build_sha256
    assert (other.name, other.profile) == ("torch", "source-eager-f32")
