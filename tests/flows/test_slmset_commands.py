"""`trlm slmset split`, `join`, `prove`, `verify`, and `trlm check` of a set."""

from pathlib import Path

import pytest

from tests.flows.test_cli import document
from tests.slmset.conftest import made

pytestmark = pytest.mark.xdist_group("flows")
Capture = pytest.CaptureFixture[str]


def test_a_file_through_a_set(capsys: Capture, tmp_path: Path) -> None:
    path, root, back = tmp_path / "m.slm", tmp_path / "m.slmset", tmp_path / "n.slm"
    path.write_bytes(made())
    split = ["slmset", "split", str(path), "--out", str(root), "--codec", "none"]
    row = document(capsys, [*split, "--shard-pieces", "3"], 0)
    assert (row["pieces"], row["shards"], row["stored"]) == (4, 2, row["size"])
    assert document(capsys, ["check", str(root)], 0)["verdict"] == "accept"
    joined = document(capsys, ["slmset", "join", str(root), "--out", str(back)], 0)
    assert joined["file_sha256"] == row["file_sha256"]
    assert back.read_bytes() == path.read_bytes()
    proof = str(tmp_path / "p.cbor")
    rows = ["slmset", "prove", str(root), "--out", proof, "--tensor", "floats", "--rows", "5:9"]
    document(capsys, rows, 0)
    verify = ["slmset", "verify", proof, "--root", row["merkle_root"]]
    shown = document(capsys, [*verify, "--front", row["front_sha256"]], 0)
    assert (shown["tensor"], shown["rows"]) == ("floats", [5, 9])
    assert document(capsys, verify, 3)["error"]["code"] == "SLMSET_PROOF"
    document(capsys, ["slmset", "prove", str(path), "--out", proof, "--piece", "3"], 0)
    assert document(capsys, [*verify, "--pieces", "4"], 0)["pieces"] == [3]
    for wrong in ([], ["--pieces", "5"]):
        assert document(capsys, [*verify, *wrong], 3)["error"]["code"] == "SLMSET_PROOF"
    shard = root / "shard-00001.bin"
    shard.write_bytes(b"\xff" + shard.read_bytes()[1:])
    codes = {f["code"] for f in document(capsys, ["check", str(root)], 3)["findings"]}
    assert codes == {"SLMSET_SHARD_HASH", "SLMSET_STORED_HASH"}


def test_questions_that_are_none(capsys: Capture, tmp_path: Path) -> None:
    path, proof = tmp_path / "m.slm", str(tmp_path / "p.cbor")
    path.write_bytes(made())
    prove = ["slmset", "prove", str(path), "--out", proof]
    for wrong in (
        [],
        ["--piece", "0", "--tensor", "floats"],
        ["--tensor", "floats", "--rows", "1"],
        ["--tensor", "floats", "--rows", "-1:2"],
        ["--tensor", "floats", "--rows", f"0:{'9' * 5000}"],
    ):
        assert document(capsys, [*prove, *wrong], 2)["error"]["code"] == "PROOF_CHOICE"
    for out in (path, path.parent / "link"):
        (path.parent / "link").unlink(missing_ok=True)
        (path.parent / "link").symlink_to(path)
        over = ["slmset", "prove", str(path), "--out", str(out), "--piece", "0"]
        assert document(capsys, over, 2)["error"]["code"] == "OUTPUT_IS_INPUT"
    for root in ("xyz", "00"):
        verify = ["slmset", "verify", str(path), "--root", root]
        assert document(capsys, verify, 2)["error"]["code"] == "PROOF_CHOICE"
    join = ["slmset", "join", str(tmp_path), "--out", str(tmp_path / "n.slm")]
    assert document(capsys, join, 2)["error"]["code"] == "OUTPUT_IS_INPUT"
    (tmp_path / "empty.slmset").mkdir()
    join = ["slmset", "join", str(tmp_path / "empty.slmset"), "--out", str(tmp_path / "n.slm")]
    assert document(capsys, join, 3)["error"]["code"] == "SLMSET_FILE"
