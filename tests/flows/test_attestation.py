"""Attestations of a whole run: derived again from the receipts, and signed."""

import json
import shutil
from pathlib import Path

import pytest

from tests.flows.conftest import SmallRun
from trlm_lab.attest import new_signing_key
from trlm_lab.errors import NoAttestationError, NoReceiptError
from trlm_lab.flows.attestation import ATTESTATIONS, attest, check_attestations
from trlm_lab.flows.checking import check_path
from trlm_lab.receipts import Finding, VerifyReport
from trlm_lab.receipts.verify import read_receipt

pytestmark = pytest.mark.xdist_group("flows")


@pytest.fixture
def sealed(small_run: SmallRun, tmp_path: Path) -> Path:
    """The receipt and its graph, without traces."""
    copy = tmp_path / "sealed"
    copy.mkdir()
    shutil.copy(small_run.out / "receipt.json", copy)
    for room in ("nodes", "blobs"):
        shutil.copytree(small_run.out / room, copy / room)
    return copy


def findings(directory: Path, key: Path | None = None) -> list[Finding]:
    report = VerifyReport()
    report.root = read_receipt(directory, report)
    check_attestations(directory, report, key)
    return report.findings


def test_every_kind_of_receipt_is_attested(sealed: Path) -> None:
    kinds = {path.name.split("-")[0] for path in attest(sealed)}
    assert kinds == {"acquisition", "comparison", "exactness", "promotion"}
    assert findings(sealed) == []


def test_a_signed_run_verifies_with_its_key_alone(sealed: Path, tmp_path: Path) -> None:
    public = new_signing_key(tmp_path / "key")
    other = new_signing_key(tmp_path / "other")
    written = attest(sealed, tmp_path / "key")
    assert findings(sealed, public) == []
    report = VerifyReport()
    report.root = read_receipt(sealed, report)
    signed = check_attestations(sealed, report, public)
    assert signed is not None
    assert signed.statements == len(written)
    assert {f.code for f in findings(sealed)} == {"SIGNATURE_UNCHECKED"}
    assert [f.code for f in findings(sealed, other)] == ["SIGNATURE_INVALID"] * len(written)


def test_unsigned_statements_do_not_pass_for_signed(sealed: Path, tmp_path: Path) -> None:
    public = new_signing_key(tmp_path / "key")
    attest(sealed)
    assert {f.code for f in findings(sealed, public)} == {"SIGNATURE_INVALID"}


def test_a_statement_about_something_else_is_stale(sealed: Path) -> None:
    first, second = sorted(attest(sealed))[:2]
    shutil.copy(first, second)
    assert [f.code for f in findings(sealed)] == ["ATTESTATION_STALE"]


def test_a_lost_statement_is_missed(sealed: Path) -> None:
    attest(sealed)[0].unlink()
    assert [f.code for f in findings(sealed)] == ["ATTESTATION_MISSING"]


def test_every_finding_says_what_to_do(sealed: Path, tmp_path: Path) -> None:
    new_signing_key(tmp_path / "key")
    first, second, third, fourth = sorted(attest(sealed, tmp_path / "key"))[:4]
    shutil.copy(first, second)
    third.unlink()
    fourth.write_text("{}")
    found = findings(sealed)
    assert {f.code for f in found} >= {
        "ATTESTATION_STALE", "ATTESTATION_MISSING", "SIGNATURE_UNCHECKED", "ENVELOPE_MALFORMED"
    }  # fmt: skip
    assert all(f.fix for f in found)
    assert all(f.fix for f in findings(sealed, new_signing_key(tmp_path / "other")))


def test_a_graph_that_gives_no_statement_is_a_finding(sealed: Path) -> None:
    attest(sealed)
    for path in (sealed / "blobs").iterdir():
        path.unlink()
    assert [f.code for f in findings(sealed)] == ["EVIDENCE_UNREADABLE"]


def test_the_form_of_an_attestation_is_checked_alone(sealed: Path) -> None:
    path = attest(sealed)[0]
    found = check_path(path)
    assert (found["verdict"], found["findings"][0]["code"]) == ("accept", "FORM_ONLY")
    row = json.loads(path.read_text())
    path.write_text(json.dumps(row))
    assert check_path(path)["findings"][0]["code"] == "ENVELOPE_MALFORMED"


def test_no_attestation(sealed: Path, tmp_path: Path) -> None:
    public = new_signing_key(tmp_path / "key")
    with pytest.raises(NoAttestationError):
        findings(sealed, public)


def test_no_receipt(sealed: Path) -> None:
    (sealed / "receipt.json").unlink()
    with pytest.raises(NoReceiptError):
        attest(sealed)


def test_links_and_folders_are_no_envelopes(sealed: Path) -> None:
    first = attest(sealed)[0]
    kept = first.read_bytes()
    first.unlink()
    (sealed / "kept").write_bytes(kept)
    first.symlink_to(sealed / "kept")
    (sealed / ATTESTATIONS / "folder").mkdir()
    assert [f.code for f in findings(sealed)] == ["ENVELOPE_MALFORMED"] * 2


def test_results_of_the_comparison_are_named(sealed: Path) -> None:
    import base64

    (path,) = [p for p in attest(sealed) if p.name.startswith("promotion")]
    statement = json.loads(base64.b64decode(json.loads(path.read_text())["payload"]))
    predicate = statement["predicate"]
    assert predicate["result"] in ("PASSED", "WARNED")
    assert any("scalar-f32-v1" in name for name in predicate["passedTests"])
    assert {s["name"] for s in statement["subject"]} == {"f32.slm", "q8_r128.slm"}
