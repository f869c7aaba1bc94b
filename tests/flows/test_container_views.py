"""A container as rows and pictures, and its notebook."""

import json
from pathlib import Path

import pytest

from trlm_lab import plots
from trlm_lab.flows.container_views import Container
from trlm_lab.flows.notebooks import NOTEBOOKS, run_notebook
from trlm_lab.flows.packing import Packed
from trlm_lab.flows.workspace import Workspace
from trlm_lab.inspector import inspect
from trlm_lab.plots.container import squarified

pytestmark = pytest.mark.xdist_group("flows")
Q_PROJ = "model.layers.0.self_attn.q_proj.weight"


@pytest.fixture
def container(small_artifacts: dict[str, Packed]) -> Container:
    path = small_artifacts["q8_r128"].artifact.path
    return Container(path, inspect(path))


def test_every_byte_has_a_row(container: Container) -> None:
    rows = container.role_rows()
    assert sum(row["bytes"] for row in rows) == container.path.stat().st_size
    assert {row["part"] for row in rows} >= {"embedding", "down_proj", "front matter"}
    drawn = plots.byte_treemap(rows, subject="small")
    assert drawn.reading.endswith("in all.")


def test_boxes_fill_their_picture_and_stay_apart() -> None:
    parts = [0.4, 0.25, 0.15, 0.1, 0.06, 0.03, 0.01]
    boxes = squarified(parts, (0.0, 0.0, 1.0, 1.0))
    assert [round(w * h, 12) for _, _, w, h in boxes] == parts
    for x, y, w, h in boxes:
        assert x >= -1e-12
        assert y >= -1e-12
        assert x + w <= 1 + 1e-12
        assert y + h <= 1 + 1e-12
        assert max(w / h, h / w) < 7
    for i, (x, y, w, h) in enumerate(boxes):
        for u, v, s, t in boxes[:i]:
            apart = min(x + w, u + s) - max(x, u), min(y + h, v + t) - max(y, v)
            assert min(apart) < 1e-9


def test_a_proof_holds_and_a_changed_one_does_not(container: Container) -> None:
    verdicts = [row["verdict"] for row in container.proof_rows(Q_PROJ, 0, 2)]
    assert verdicts[0] == "holds"
    assert verdicts[1] in ("SLM_PROOF", "SLMSET_PROOF")


def test_every_flipped_bit_is_found_by_a_hash(container: Container) -> None:
    rows = container.flip_rows(3)
    assert all("SLM_HASH" in row["rules"] for row in rows)
    assert any(row["rules"] != "SLM_HASH" for row in rows)
    assert "is found" in plots.flipped_bits(rows).reading


@pytest.mark.slow
def test_the_notebook(tmp_path: Path) -> None:
    cells = json.loads((NOTEBOOKS / "12_container.ipynb").read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert not any("def " in source or cell["outputs"] for source, cell in zip(
        code, [c for c in cells if c["cell_type"] == "code"], strict=True))  # fmt: skip
    done = run_notebook(Workspace(tmp_path), "12_container", {}, [])
    found = done.evidence
    assert (found["findings"], found["unseen"], found["proof"][0]) == (0, 0, "holds")
