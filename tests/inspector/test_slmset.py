"""Sets of pieces: inspector and reader, written apart, name the same rule of damaged ones."""

from collections import Counter
from pathlib import Path
from random import Random

from trlm_lab.base import canon
from trlm_lab.inspector.slmset import inspect_set
from trlm_lab.slmset import check_set
from trlm_lab.testing.slm_parsers import set_lying, set_seeds


def laid_out(root: Path, data: bytes) -> Path:
    for name in list(root.iterdir()) if root.exists() else []:
        name.unlink()
    root.mkdir(exist_ok=True)
    for name, content in canon.decode(data).items():
        (root / name).write_bytes(content)
    return root


def test_both_name_the_same_rule(tmp_path: Path) -> None:
    seeds = set_seeds(tmp_path)
    draw, apart, rules = Random(3), [], Counter[str]()
    for data in seeds:
        assert inspect_set(laid_out(tmp_path / "set", data)) == ()
    for _ in range(400):
        seed = draw.choice(seeds[:3] * 4 + seeds)
        root = laid_out(tmp_path / "set", set_lying(seed, seed, draw))
        own = [f["code"] for f in check_set(root)]
        found = [f.code for f in inspect_set(root)]
        rules[own[0] if own else ""] += 1
        if (own[0] in found) if own else not found:
            continue
        apart.append((own, found))
    assert apart == []
    assert len(rules) >= 9
