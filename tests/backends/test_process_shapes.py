"""The process adapter: shapes of checkpoints from a subject, and subjects that it refuses."""

import json
from pathlib import Path

import pytest

from tests.backends.stub_process import CASE, CONFIG, stub
from trlm_lab.backends.process import ProcessRunner, ProcessSession
from trlm_lab.backends.process_shapes import ModelShapes
from trlm_lab.base.interfaces import Subject
from trlm_lab.errors import (
    ModelShapeError,
    UnknownNameError,
)
from trlm_lab.flows.packing import Packed


def test_shapes_of_the_ladder() -> None:
    shapes = ModelShapes(L=2, D=8, H=4, K=2, E=2, F=12, V=20)
    assert shapes.expected("layers.1.k_rope", 3).shape == (3, 2, 2)
    assert shapes.expected("layers.1.attn_probs", 3).shape == (4, 3, 3)
    assert shapes.expected("layers.0.v_proj", 3).shape == (3, 4)
    assert shapes.expected("step4.layers.0.attn_probs", 3).shape == (4, 1, 8)
    assert shapes.expected("logits.topk_ids", 3).shape == (3, 20)
    for name in ("layers.2.input", "layer.0.input", "step0.step1.logits", "logits.chunk01"):
        with pytest.raises(UnknownNameError):
            shapes.expected(name, 3)


def test_shapes_of_other_families(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"n_embd": 8, "n_head": 2, "n_layer": 3, "n_inner": null, "vocab_size": 9}')
    assert ModelShapes.of_model_dir(tmp_path) == ModelShapes(L=3, D=8, H=2, K=2, E=4, F=32, V=9)
    config.write_text(json.dumps({"text_config": {**CONFIG, "head_dim": 6}}))
    assert ModelShapes.of_model_dir(tmp_path).E == 6


@pytest.mark.parametrize("text", ["{", '{"hidden_size": "8"}', '{"hidden_size": true}', "[]"])
def test_a_configuration_without_shapes(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ModelShapeError):
        ProcessRunner(stub("none")).open(Subject(model_dir=tmp_path))


def test_shapes_of_an_artifact_alone(small_artifacts: dict[str, Packed]) -> None:
    artifact = small_artifacts["q8_r128"].artifact
    with ProcessRunner(stub("none")).open(Subject(artifact=artifact.path)) as session:
        assert session._shapes == ModelShapes(L=4, D=96, H=6, K=2, E=16, F=256, V=512, context=256)


def test_a_subject_of_nothing() -> None:
    with pytest.raises(ModelShapeError):
        ProcessRunner(stub("none")).open(Subject())


def test_a_refused_subject_leaves_no_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(ModelShapeError):
        ProcessRunner(stub("none")).open(Subject(model_dir=tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_an_unprepared_session_knows_its_program(subject: Subject) -> None:
    with ProcessRunner(stub("none")).open(subject) as session:
        assert isinstance(session, ProcessSession)
        before = session.identity
        list(session.run(CASE))
        assert before.build_sha256 == session.identity.build_sha256
        assert before.version == ""
