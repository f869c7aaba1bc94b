"""What a runtime says of its inputs and of its top k is held to be said in earnest."""

import sys
from pathlib import Path

import pytest

from trlm_lab.base.records import Case, CaseSuite, Outcome
from trlm_lab.flows.acquisition import Source
from trlm_lab.flows.progress import Board
from trlm_lab.flows.trial import bisect_model

PROGRAM = Path(__file__).parent / "programs" / "lying_runtime.py"
PLAIN = Case("plain", (1, 5, 9, 2, 7, 4))

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("trial")]


@pytest.mark.parametrize(
    ("lie", "boundary", "checkpoint", "index", "word"),
    [
        ("ids", "prompt_ids", "prompt_ids", (2,), "token_ids: 10 instead of 9"),
        ("positions", "prompt_ids", "prompt_ids", (3,), "position_ids: 4 instead of 3"),
        ("mask", "prompt_ids", "prompt_ids", (5,), "attention_mask: 0 instead of 1"),
        ("beside_swapped", "logits", "logits.topk_ids", (1, 4), "logits.topk_ids"),
        ("beside_other_id", "logits", "logits.topk_ids", (1, 63), "logits.topk_ids"),
        ("beside_value", "logits", "logits.topk_values", (2, 3), "logits.topk_values"),
        ("bounded_swapped", "logits", "logits.topk_ids", (1, 5), "descending value"),
        ("bounded_far", "logits", "logits", None, ""),
    ],
)
def test_a_lie_is_named(
    small_source: Source,
    tmp_path: Path,
    lie: str,
    boundary: str,
    checkpoint: str,
    index: tuple[int, ...] | None,
    word: str,
) -> None:
    found = bisect_model(
        f"process:{sys.executable} {PROGRAM} {lie}",
        str(small_source.root),
        CaseSuite("trial", (PLAIN,)),
        tmp_path,
        Board(quiet=True),
    ).mismatch
    assert (found.verdict, found.boundary) == (Outcome.WRONG, boundary)
    assert found.checkpoint == checkpoint
    assert found.case_id == "plain"
    assert index is None or found.index == index
    assert word in found.note
    assert found.candidate_bits is not None


@pytest.mark.parametrize("lie", ["honest", "bounded"])
def test_the_same_said_honestly_is_sound(small_source: Source, tmp_path: Path, lie: str) -> None:
    found = bisect_model(
        f"process:{sys.executable} {PROGRAM} {lie}",
        str(small_source.root),
        CaseSuite("trial", (PLAIN,)),
        tmp_path,
        Board(quiet=True),
    ).mismatch
    assert found.verdict in (Outcome.MATCH, Outcome.DRIFT)
