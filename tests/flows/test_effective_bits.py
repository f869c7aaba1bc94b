"""What `trlm inspect` says that a weight costs, against the bytes of files of every form."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.backends.coded_model import coded_model
from trlm_lab.flows.cli.app import app
from trlm_lab.flows.effective_bits import effective_bits
from trlm_lab.inspector import inspect_bytes
from trlm_lab.slm.numbers import DType, ScaleEncoding
from trlm_lab.slm.read import open_slm

FORMS = [
    (DType.q4_g64, ScaleEncoding.fp16, None),
    (DType.q5_g64, ScaleEncoding.e8m0, None),
    (DType.q4_g64, ScaleEncoding.fp16, DType.q8_r128),
    (DType.bf16, ScaleEncoding.none, None),
]


@pytest.mark.parametrize(("dtype", "scales", "residual"), FORMS)
def test_bits_are_those_of_the_bytes(
    dtype: DType, scales: ScaleEncoding, residual: DType | None
) -> None:
    data = coded_model(dtype, scales, residual)
    slm = open_slm(data)
    dense = [t for t in slm.tensors if t.descriptor.layout == 0]
    weights = sum(t.rows * t.cols for t in dense)
    own = [t for t in slm.tensors if t.alias_of is None]
    found = effective_bits(inspect_bytes(memoryview(data)))
    assert found["weights"] == weights
    sizes = (
        sum(len(t.data) for t in dense),
        sum(len(t.data) + len(t.scales) for t in own),
        len(slm.body),
        len(data),
    )
    assert list(found["bits"].values()) == [round(8 * size / weights, 4) for size in sizes]
    assert list(found["bits"].values()) == sorted(found["bits"].values())
    rows = {row["form"]: row for row in found["forms"]}
    assert sum(row["weights"] for row in rows.values()) == weights
    assert sum(row["bytes"] for row in rows.values()) == sizes[1]
    assert rows["f32"]["bits"] == 32
    assert ("residual of q8_r128" in rows) == (residual is not None)


def test_nothing_of_a_file_that_is_none() -> None:
    assert effective_bits(inspect_bytes(memoryview(b"SLM2"))) == {}


def test_inspect_prints_them(tmp_path: Path) -> None:
    path = tmp_path / "m.slm"
    path.write_bytes(coded_model(DType.q4_g64, ScaleEncoding.fp16))
    shown = CliRunner().invoke(app, ["inspect", str(path)])
    assert shown.exit_code == 0, shown.output
    assert "with scales" in shown.output
    assert "q4_g64, fp16" in shown.output
