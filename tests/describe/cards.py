"""Model cards in small model directories, and what is found in them."""

from collections.abc import Callable
from pathlib import Path

from tests.describe.test_evidence import template
from trlm_lab.base import canon
from trlm_lab.describe import ConflictReceipt, detect_conflicts

Tree = Callable[..., Path]
TURN = {"tokenizer_config": {"chat_template": template("eos_token")}}


def judged(root: Path, card: str | bytes, name: str = "README.md") -> ConflictReceipt:
    (root / name).write_bytes(card if isinstance(card, bytes) else card.encode())
    receipt = detect_conflicts(root)
    canon.encode(receipt.to_map())
    return receipt


def found(receipt: ConflictReceipt) -> list[tuple[str, str, str]]:
    return [(f.code, f.level, f.where) for f in receipt.findings if f.code != "LICENCE_MISSING"]


def fenced(code: str, language: str = "python") -> str:
    return f"# A model\n\n```{language}\n{code}\n```\n"
