"""The ledger as rows and pictures, and its notebook."""

from pathlib import Path

import numpy as np
import pytest

from trlm_lab import plots
from trlm_lab.base.records import Omission, Transform
from trlm_lab.flows.acquisition import Source
from trlm_lab.flows.ledger_views import (
    Lineage,
    byte_rows,
    probe_rows,
    source_table,
    steps_in_words,
    thinned,
)
from trlm_lab.flows.notebooks import run_notebook
from trlm_lab.flows.packing import Packed
from trlm_lab.flows.progress import Board
from trlm_lab.flows.workspace import Workspace

pytestmark = pytest.mark.xdist_group("flows")
O_PROJ = "model.layers.0.self_attn.o_proj.weight"


@pytest.fixture
def lineage(small_source: Source, small_artifacts: dict[str, Packed]) -> Lineage:
    packed = small_artifacts["q8_r128"]
    return Lineage(small_source.root, packed.artifact.path, packed.ledger)


def test_every_source_tensor_has_a_row(lineage: Lineage) -> None:
    rows = source_table(lineage.ledger)
    assert [row["source tensor"] for row in rows][:2] == [
        "model.embed_tokens.weight", "model.layers.0.input_layernorm.weight"
    ]  # fmt: skip
    assert len(rows) == len({e.source_name for e in lineage.ledger.entries}) + 1
    assert rows[-1]["became"] == "alias → lm_head.weight"


def test_what_is_left_out_has_a_row_with_its_reason(lineage: Lineage) -> None:
    left = Omission("h.0.attn.bias", "w", (0, 4), (1, 1), "F32", "0" * 64, "a mask")
    ledger = type(lineage.ledger)(lineage.ledger.entries, (), (left,))
    row = {"source tensor": "h.0.attn.bias", "stored": "F32 1×1", "became": "nothing: a mask"}
    assert source_table(ledger)[-1] == row


def test_steps_in_words(lineage: Lineage) -> None:
    entry = lineage.entry(O_PROJ)
    assert steps_in_words(entry) == "quantized (q8_r128), padded from 96 to 128 columns"
    split = Transform("rows", {"first": 64, "count": 32, "heads": 2, "head_dim": 16})
    steps = (Transform("transpose"), split, Transform("copy"))
    other = type(entry)(**{**vars(entry), "transforms": steps})
    assert steps_in_words(other) == "transpose, rows 64 to 95 (2 heads of 16), copy"


def test_bytes_by_role(lineage: Lineage) -> None:
    rows = {row["role"]: row for row in byte_rows(lineage.ledger)}
    assert rows["embedding"]["source"] == 4 * 512 * 96
    assert rows["embedding"]["artifact"] == 512 * (128 + 2)
    assert "lm_head" not in rows
    shown = plots.ledger_bytes(list(rows.values()), subject="small")
    assert shown.reading.startswith("1.")


def test_probes_show_places_and_bits(lineage: Lineage) -> None:
    rows = probe_rows(lineage.entry(O_PROJ))
    assert rows[0]["element"] == "[0, 0]"
    assert rows[-1]["element"] == "[95, 95]"
    assert all(len(row["its bits"]) == 8 for row in rows)


def test_pictures_of_one_matrix(lineage: Lineage) -> None:
    pictures = lineage.pictures(O_PROJ)
    assert [p.shape for p in pictures.values()] == [(96, 96)] * 3
    stored, behind, made = pictures.values()
    assert np.array_equal(stored, behind)
    assert not np.array_equal(behind, made)
    assert thinned(stored, (10, 5)).shape == (10, 5)
    assert "none moves by more than" in plots.what_became(pictures, subject=O_PROJ).reading
    assert plots.what_became({"a": stored, "b": stored}).reading.endswith("are the same.")


@pytest.mark.slow
def test_the_notebook_proves_what_it_shows(tmp_path: Path) -> None:
    ws = Workspace(tmp_path / "run", Board(quiet=True))
    done = run_notebook(ws, "09_ledger", {"quant": "f32"}, [])
    assert done.evidence["findings"] == 0
    assert done.evidence["steps"] == ["copy"]
