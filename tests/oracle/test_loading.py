"""Loading a model directory: whole or refused, silent, and without a network."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import Case
from trlm_lab.errors import OracleModelError
from trlm_lab.oracle import TorchRunner, source_defaults

Alter = Callable[..., Path]


def _open(path: Path) -> Any:
    return TorchRunner().open(Subject(model_dir=path))


def _reweighted(path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    weights = load_file(path / "model.safetensors")
    change(weights)
    save_file(weights, path / "model.safetensors", metadata={"format": "pt"})
    return path


def test_oracle_model_error_for_a_missing_tensor(altered_dir: Alter) -> None:
    path = _reweighted(altered_dir(), lambda w: w.pop("model.layers.2.mlp.up_proj.weight"))
    with pytest.raises(OracleModelError, match=r"missing keys: model\.layers\.2\.mlp\.up_proj"):
        _open(path)


def test_oracle_model_error_for_a_foreign_tensor(altered_dir: Alter) -> None:
    def add(weights: dict[str, Any]) -> None:
        weights["model.extra.weight"] = np.zeros(3, dtype=np.float32)

    with pytest.raises(OracleModelError, match=r"unexpected keys: model\.extra\.weight"):
        _open(_reweighted(altered_dir(), add))


def test_oracle_model_error_for_a_tensor_of_another_shape(altered_dir: Alter) -> None:
    def cut(weights: dict[str, Any]) -> None:
        weights["model.norm.weight"] = np.ones(95, dtype=np.float32)

    with pytest.raises(OracleModelError):
        _open(_reweighted(altered_dir(), cut))


@pytest.mark.parametrize("keep", [0, 7, 1000, 100_000])
def test_oracle_model_error_for_a_cut_file(altered_dir: Alter, keep: int) -> None:
    path = altered_dir()
    weights = path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:keep])
    with pytest.raises(OracleModelError) as caught:
        _open(path)
    assert caught.value.where == str(path)


def test_oracle_model_error_for_no_weights_or_no_directory(
    altered_dir: Alter, tmp_path: Path
) -> None:
    path = altered_dir()
    (path / "model.safetensors").unlink()
    with pytest.raises(OracleModelError):
        _open(path)
    with pytest.raises(OracleModelError):
        _open(tmp_path / "nowhere")


def test_half_precision_weights_are_widened(altered_dir: Alter) -> None:
    def halve(weights: dict[str, Any]) -> None:
        for name in list(weights):
            weights[name] = weights[name].astype(np.float16)

    with _open(_reweighted(altered_dir(dtype="float16"), halve)) as session:
        arrays = {o.name: o.values for o in session.run(Case("c", (1, 2)))}
    assert arrays["logits"].dtype == np.float32


def test_nothing_is_printed_and_nothing_is_fetched(
    model_dir: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    source_defaults(model_dir)
    with _open(model_dir) as session:
        assert sum(1 for _ in session.run(Case("c", (1, 2, 3)))) == 82
    assert capfd.readouterr() == ("", "")
