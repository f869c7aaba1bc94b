"""The name of a conflict changes with every byte of what was compared, for every code."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

import trlm_lab.describe
from tests.describe.conflict_cases import CASES, TABLE, TOKENIZER_CONFIG, Files, Place
from tests.describe.conftest import CONFIG, tokenizer_json
from trlm_lab.base import canon
from trlm_lab.describe import ConflictReceipt, detect_conflicts
from trlm_lab.describe.declarations import FURTHER, ROLES
from trlm_lab.errors import Refused

EMBEDDING, HEAD = "model.embed_tokens.weight", "lm_head.weight"

#: Nothing is compared: there is no licence text.
NOTHING_COMPARED = {"LICENCE_MISSING"}


def write(root: Path, files: Files) -> Path:
    base = {
        "config.json": CONFIG, "tokenizer.json": tokenizer_json(),
        "tokenizer_config.json": TOKENIZER_CONFIG,
    }  # fmt: skip
    for name, value in {**base, **files}.items():
        if isinstance(value, list):
            matrices = zip((EMBEDDING, HEAD), value, strict=False)
            save_file(dict(matrices), root / name)
        else:
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            (root / name).write_bytes(data)
    return root


def named(receipt: ConflictReceipt, code: str) -> set[str]:
    return {receipt.conflict_id(f) for f in receipt.findings if f.code == code}


def leaves(value: Any, path: Place = ()) -> Iterator[tuple[Place, Any]]:
    rows = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in rows:
        if isinstance(item, (dict, list)):
            yield from leaves(item, (*path, key))
        else:
            yield (*path, key), item


def other(value: Any, draw: Callable[[int], int]) -> Any:
    """Another value, of the same length where it has one."""
    if value is None or isinstance(value, bool):
        return value is not True
    if isinstance(value, (int, float)):
        return value + 1
    if not value:
        return "x"
    at = draw(len(value))
    return f"{value[:at]}{'y' if value[at] == 'x' else 'x'}{value[at + 1 :]}"


def change(root: Path, place: Place, draw: Callable[[int], int]) -> None:
    """One byte or value of a place is another, on disk."""
    path, rest = root / place[0], place[1:]
    data = path.read_bytes()
    if path.suffix != ".json":
        start = data.index(rest[0].encode()) if rest else 0
        length = len(rest[0].encode()) if rest else len(data)
        if path.suffix == ".safetensors":
            start, length = len(data) - 2 * TABLE.nbytes, 2 * TABLE.nbytes
        at = start + draw(length)
        path.write_bytes(data[:at] + (b"y" if data[at] == 0x78 else b"x") + data[at + 1 :])
        return
    document = json.loads(data)
    inner: Any = document
    for key in rest:
        inner = inner[key]
    found = list(leaves(inner, rest)) if isinstance(inner, (dict, list)) else [(rest, inner)]
    keys, value = found[draw(len(found))]
    holder: Any = document
    for key in keys[:-1]:
        holder = holder[key]
    holder[keys[-1]] = other(value, draw)
    path.write_text(json.dumps(document))


@pytest.mark.parametrize("name", CASES)
@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_a_changed_byte_is_another_conflict(tmp_path: Path, name: str, data: st.DataObject) -> None:
    code, files, places = CASES[name]
    write(tmp_path, files)
    before = named(detect_conflicts(tmp_path), code)
    assert before
    if not places:
        return
    place = data.draw(st.sampled_from(places))
    change(tmp_path, place, lambda n: data.draw(st.integers(0, n - 1)))
    try:
        receipt = detect_conflicts(tmp_path)
    except Refused:
        return  # No document any more.
    assert not before & named(receipt, code)
    assert canon.encode(receipt.to_map())


def test_no_code_is_left_out() -> None:
    """Every code that a rule can give has a case here."""
    package = Path(trlm_lab.describe.__file__).parent
    parts = ("*_conflicts.py", "card_*.py", "*_tokens.py", "tokenizer_*.py")
    rules = [path.read_text() for part in parts for path in package.glob(part)]
    known = {code for text in rules for code in re.findall(r'"([A-Z]+(?:_[A-Z]+)+)"', text)}
    assert known > {"VOCAB_CONFLICT", "EOS_MISSING", "MERGE_TOKEN", "SPECIAL_TOKEN_ADDED"}
    known |= {f"{role.upper()}_CONFLICT" for role in (*ROLES, *FURTHER)}
    assert known - NOTHING_COMPARED == {code for code, _, _ in CASES.values()} & known
