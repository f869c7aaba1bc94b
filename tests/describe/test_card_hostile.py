"""Model cards that are long, broken or written to cost much: findings, and nothing else."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.describe.cards import TURN, Tree, found, judged
from trlm_lab.describe.card_text import MAX_BYTES
from trlm_lab.describe.model_card import MAX_STATEMENTS

MEGABYTE = 1 << 20
# Text that a pattern which tries again from every place would take hours for.
HOSTILE = {
    "open marks": "<|" * (MEGABYTE // 2),
    "open marks in a block": "```\n" + "<|" * (MEGABYTE // 2),
    "long names": "```\n" + ("<|" + "a" * 62) * (MEGABYTE // 64),
    "ticks": "`" * MEGABYTE,
    "open ticks": "` `` " * (MEGABYTE // 5),
    "lists": "```\n" + "stop=[" * (MEGABYTE // 6),
    "texts": "```\n" + "stop=\"a stop='a " * (MEGABYTE // 16),
    "escapes": "```\n" + 'stop="' + "\\" * MEGABYTE,
    "triple quotes": "```\n" + 'stop="""' * (MEGABYTE // 8),
    "calls": "```\n" + "stop=f(" * (MEGABYTE // 7),
    "objects": "```\n" + "stop={" * (MEGABYTE // 6),
    "spaces": "```\n" + ("stop" + " " * 60) * (MEGABYTE // 64),
    "fences": "```\n" * (MEGABYTE // 4),
    "lines": "\n" * MEGABYTE,
    "front matter": "---\n" + "inference: [\n" * (MEGABYTE // 13),
    "a long key": "---\ninference:\n" + " a: b\n" * (MEGABYTE // 6) + "---\n",
    "nested YAML": "---\ninference: " + "[" * 16000 + "\n---\n",
    "aliases": "---\ninference: &a\n parameters: *a\n---\n",
    "markers": "".join(f"<|{n}|>" for n in range(MEGABYTE // 8)),
    "assignments": "```\n" + "".join(f"eos_token_id={n}\n" for n in range(MEGABYTE // 20)),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_card_is_read_once(tree: Tree, name: str) -> None:
    receipt = judged(tree(**TURN), HOSTILE[name])
    declared = sum(d.file == "README.md" for e in receipt.evidence for d in e.publisher)
    assert declared <= 2 * MAX_STATEMENTS
    limited = any("rest is not compared" in f.detail for f in receipt.findings)
    assert limited == (name in ("markers", "assignments"))
    assert all(len(f.detail) < 2000 for f in receipt.findings)


PIECES = [
    "```", "~~~", "`", "\n", " ", "---", "inference:", "parameters:", "widget:", "- ", "[", "]",
    "stop", "=", ":", "'", '"', "\\", "eos_token_id", "chat_template", "{{", "4", "<|turn|>",
    "<|x|>", "user", "[INST]", "&a", "*a", "\u2028", "\ud7ff", "\x00", "é", ",",
]  # fmt: skip


@settings(max_examples=150, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
@given(st.lists(st.sampled_from(PIECES), max_size=40), st.booleans())
def test_any_card_gives_findings_and_nothing_else(tree: Tree, pieces: list[str], top: bool) -> None:
    receipt = judged(tree(**TURN), "---\n" * top + "".join(pieces))
    assert receipt.verdict in ("accept", "stop")


def test_a_card_longer_than_is_read(tree: Tree) -> None:
    root, filler = tree(), "é" * (MAX_BYTES // 2 - 20)
    inside = filler + "\n`eos_token_id=4`\n"
    assert [row[0] for row in found(judged(root, inside))] == ["MODEL_CARD_CONFLICT"]
    longer = "x" + "é" * (MAX_BYTES // 2) + "\n`eos_token_id=4`\n"
    assert found(judged(root, longer)) == [("CARD_UNREADABLE", "note", "README.md")]
