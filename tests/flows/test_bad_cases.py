"""Cases that break a rule are refused by `trlm bisect` (status 3) before a runtime is started."""

import json
import sys
from pathlib import Path

import pytest

from trlm_lab.flows.acquisition import Source
from trlm_lab.flows.cli.app import run

SCHEMA = "trlm.process.cases.v1"


def document(**case: object) -> dict[str, object]:
    return {"schema": SCHEMA, "cases": [{"case_id": "bad", "token_ids": [1, 2, 3], **case}]}


@pytest.mark.parametrize(
    ("content", "code", "place"),
    [
        (document(token_ids=[1, 512]), "TOKEN_RANGE", "case bad: token_ids[1]"),
        (document(token_ids=[1, -1]), "CASE_FILE", "token_ids[1]"),
        (document(token_ids=[]), "CASE_FILE", "bad.json: case 0 (bad)"),
        (document(token_ids=[1] * 257), "CONTEXT_LENGTH", "case bad"),
        (document(position_ids=[0, 1, 256]), "POSITION_RANGE", "case bad: position_ids[2]"),
        (document(attention_mask=[0, 1, 1]), "ALL_KEYS_MASKED", "case bad: attention_mask[0]"),
        (document(attention_mask=[1, 2, 1]), "CASE_FILE", "case 0"),
        (document(attention_mask=[1]), "CASE_FILE", "bad.json: case 0 (bad)"),
        ({**document(), "schema": "trlm.cases.v9"}, "CASE_FILE", "bad.json"),
        ({"schema": SCHEMA, "cases": []}, "CASE_FILE", "bad.json"),
    ],
)
def test_bisect_refuses(
    small_source: Source,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    content: dict[str, object],
    code: str,
    place: str,
) -> None:
    cases, started = tmp_path / "bad.json", tmp_path / "started"
    cases.write_text(json.dumps(content))
    program = tmp_path / "runtime.py"
    program.write_text(f"open({str(started)!r}, 'w')")
    arguments = ["bisect", "--backend", f"process:{sys.executable} {program}", "--json"]
    status = run([*arguments, "--model", str(small_source.root), "--cases", str(cases)])
    told = capsys.readouterr()
    assert status == 3, told
    for part in (code, place):
        assert part in told.out + told.err
    assert not started.exists()
