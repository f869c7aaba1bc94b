"""`trlm verify` with no network and without the packages of the model side."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.flows.conftest import SmallRun
from tests.receipts.nodes import grow
from trlm_lab.receipts import ReceiptStore
from trlm_lab.receipts.receipt_file import receipt_text

pytestmark = pytest.mark.xdist_group("flows")

#: Refuses the packages and every connection, verifies, and says which of them were loaded anyway.
SCRIPT = """
import json, socket, sys
GONE = ("torch", "transformers", "tokenizers", "huggingface_hub", "matplotlib", "nbformat")
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in GONE:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
def refuse(*_, **__):
    raise OSError("no network")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
from trlm_lab.flows.cli.app import run
status = run(["verify", sys.argv[1], "--json"])
print(json.dumps([status, [name for name in GONE if name in sys.modules]]))
"""


def alone(directory: Path) -> tuple[dict[str, Any], int, list[str]]:
    """The answer of the command, its exit status, and the packages that were loaded."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(directory)], capture_output=True, text=True, check=True
    )
    answer, _, last = done.stdout.strip().rpartition("\n")
    status, loaded = json.loads(last)
    return json.loads(answer), status, loaded


def test_a_store_verifies_alone(tmp_path: Path) -> None:
    root = grow(ReceiptStore(tmp_path), "artifact")
    (tmp_path / "receipt.json").write_text(receipt_text(root))
    answer, status, loaded = alone(tmp_path)
    # Made-up records have other ids than the nodes say: that is found, and nothing else.
    assert {row["code"] for row in answer["findings"]} <= {"RECORD_ID", "EVIDENCE_UNREADABLE"}
    assert (status, loaded) == (1, [])


def test_a_whole_run_verifies_alone(small_run: SmallRun) -> None:
    answer, status, loaded = alone(small_run.out)
    assert [row for row in answer["findings"] if row["level"] == "error"] == []
    assert answer["kind"] == "conformance"
    assert (status, loaded) == (0, [])
