"""`trlm pack --format slm1`, `inspect`, `check`, `unpack`, `ledger` and `migrate` of SLM1 files."""

import resource
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.flows.test_cli import document
from tests.slm1.made import BTOK, made
from trlm_lab.flows.acquisition import Source
from trlm_lab.flows.compiled_tokenizer import read_block
from trlm_lab.flows.tokenizer_requests import TokenizerFile
from trlm_lab.flows.tokenizer_runtime import runtime_bytes
from trlm_lab.text.slm1 import Bpe1, Btok, Specials, write_bpe1
from trlm_lab.text.tok2 import read_tok2

pytestmark = pytest.mark.xdist_group("flows")
Capture = pytest.CaptureFixture[str]
SMALL = "synthetic:llama-small"


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    """A BPE1 of the small model's 512 ids."""
    tokens = {4 + byte: bytes([byte]) for byte in range(256)}
    path = tmp_path / "t.bpe1"
    path.write_bytes(write_bpe1(Bpe1(512, Specials(1, 2, 0, 3), tokens, {})))
    return path


def test_a_source_there_and_back(
    capsys: Capture, tmp_path: Path, tokenizer: Path, small_source: Source
) -> None:
    path = tmp_path / "out" / "m.slm"
    pack = ["pack", SMALL, "--format", "slm1", "--quant", "q4_0", "--out", str(path)]
    row = document(capsys, [*pack, "--tokenizer", str(tokenizer)], 0)
    assert (row["format"], row["size"]) == ("SLM1", path.stat().st_size)
    assert row["checksum_profile"] == "trlm-checksum64-v1"
    shown = document(capsys, ["inspect", str(path)], 0)
    assert (shown["format"], shown["verdict"]) == ("SLM1", "accept")
    assert document(capsys, ["check", str(path)], 0)["verdict"] == "accept"
    ledger = ["ledger", "show", str(path), "--source", str(small_source.root)]
    entries = document(capsys, ledger, 0)["entries"]
    assert "rotary_permutation" in [step[0] for step in entries[2]["transforms"]]
    ledger[1] = "verify"
    assert document(capsys, ledger, 0)["verdict"] == "accept"
    old = document(capsys, ["unpack", str(path), "--out", str(tmp_path / "a.safetensors")], 0)
    new, saved = tmp_path / "n.slm", tmp_path / "ledger.json"
    done = document(
        capsys,
        ["migrate", str(path), str(new), "--rope-order", "half_split", "--ledger", str(saved)],
        0,
    )
    assert (done["format"], saved.stat().st_size > 0) == ("SLM2", True)
    assert document(capsys, ["check", str(new)], 0)["verdict"] == "accept"
    again = document(capsys, ["unpack", str(new), "--out", str(tmp_path / "b.safetensors")], 0)
    assert again["sha256"] == old["sha256"]
    proof = ["ledger", "verify", str(new), "--source", str(path), "--ledger", str(saved)]
    assert document(capsys, proof, 0)["verdict"] == "accept"
    shown = document(capsys, ["ledger", "show", str(new), "--source", str(path)], 0)
    assert next(e["destination_name"] for e in shown["entries"]) == "model.embed_tokens.weight"
    block = ["--tokenizer", str(tokenizer), "--block", "7"]
    assert document(capsys, [*pack, *block], 3)["error"]["code"] == "SLM1_CANNOT_HOLD"


def error(capsys: Capture, arguments: list[str], status: int) -> dict[str, Any]:
    found: dict[str, Any] = document(capsys, arguments, status)["error"]
    return found


def test_what_is_refused(capsys: Capture, tmp_path: Path) -> None:
    out = str(tmp_path / "m.slm")
    pack = ["pack", SMALL, "--format", "slm1", "--out", out]
    found = error(capsys, [*pack, "--quant", "q8_0"], 3)
    assert found["code"] == "SLM1_CANNOT_HOLD"
    assert "--tokenizer" in found["detail"]
    (tmp_path / "t").write_bytes(BTOK)
    found = error(capsys, [*pack, "--quant", "q8_0", "--tokenizer", str(tmp_path / "t")], 3)
    assert "260 ids, the model 512" in found["detail"]
    (tmp_path / "t").write_bytes(BTOK[:-1])
    assert error(capsys, [*pack, "--tokenizer", str(tmp_path / "t")], 2)["code"] == "UNKNOWN_NAME"
    q8 = [*pack, "--quant", "q8_0", "--tokenizer", str(tmp_path / "t")]
    assert error(capsys, q8, 3)["code"] == "BTOK"
    assert error(capsys, ["pack", SMALL, "--format", "slm3", "--out", out], 2)["code"]
    assert not Path(out).exists()
    data = bytearray(made())
    old = tmp_path / "old.slm"
    old.write_bytes(bytes(data[:100]) + bytes(8) + bytes(data[108:]))
    migrate = ["migrate", str(old), out]
    assert error(capsys, migrate, 3)["code"] == "SLM1_CHECKSUM_PROFILE"
    assert document(capsys, ["check", str(old)], 3)["findings"][0]["code"]
    assert document(capsys, [*migrate, "--unchecked"], 0)["format"] == "SLM2"
    assert error(capsys, ["migrate", str(old), str(old)], 2)["code"] == "OUTPUT_IS_INPUT"
    assert error(capsys, ["migrate", out, str(tmp_path / "x")], 3)["code"] == "SLM1_VERSION"
    assert error(capsys, ["migrate", str(tmp_path / "y"), out], 3)["code"] == "PATH_MISSING"


def test_nothing_is_written_over_what_it_is_made_of(
    capsys: Capture, tmp_path: Path, tokenizer: Path, small_source: Source
) -> None:
    model = tmp_path / "model"
    shutil.copytree(small_source.root, model)
    weights = model / "model.safetensors"
    before = weights.read_bytes(), tokenizer.read_bytes()
    link = tmp_path / "link"
    link.symlink_to(model)
    old = ["--format", "slm1", "--quant", "q8_0", "--tokenizer", str(tokenizer)]
    for spec in (str(model), f"dir:{model}", f"dir:{link}"):
        for more in ([], old):
            pack = ["pack", spec, "--out", str(weights), *more]
            assert error(capsys, pack, 2)["code"] == "OUTPUT_IS_INPUT"
    inside = ["pack", f"dir:{model}", "--out", str(model / "deep" / "m.slm")]
    assert error(capsys, inside, 2)["code"] == "OUTPUT_IS_INPUT"
    over = ["pack", SMALL, *old, "--out", str(tokenizer)]
    assert error(capsys, over, 2)["code"] == "OUTPUT_IS_INPUT"
    (tmp_path / "old.slm").write_bytes(made())
    new = str(tmp_path / "new.slm")
    both = ["migrate", str(tmp_path / "old.slm"), new, "--ledger", f"{tmp_path}/./new.slm"]
    assert error(capsys, both, 2)["code"] == "OUTPUT_IS_INPUT"
    assert not Path(new).exists()
    opinion = ["oracle", "third-opinion", f"dir:{model}", "--cases", "smoke", "--out", str(weights)]
    assert error(capsys, opinion, 2)["code"] == "OUTPUT_IS_INPUT"
    assert (weights.read_bytes(), tokenizer.read_bytes()) == before


def test_its_tokenizer_is_read(tmp_path: Path) -> None:
    path = tmp_path / "m.slm"
    path.write_bytes(made())
    assert TokenizerFile.at(path).kind == "SLM1"
    for tokenizer in (read_block(path), read_tok2(runtime_bytes(TokenizerFile.at(path))).tokenizer):
        found = tokenizer.encode("hé", add_special_tokens=True)
        assert [token.id for token in found.tokens] == Btok().encode("hé".encode())


@pytest.mark.parametrize("command", ["migrate", "unpack", "slmset join", "slmset split"])
def test_a_full_disk_is_named_by_the_output(command: str, capsys: Capture, tmp_path: Path) -> None:
    """Files are limited to a size that no output has."""
    old, new = tmp_path / "old.slm", tmp_path / "new"
    old.write_bytes(made())
    second, root = tmp_path / "second.slm", tmp_path / "set"
    assert document(capsys, ["migrate", str(old), str(second)], 0)
    assert document(capsys, ["slmset", "split", str(second), "--out", str(root)], 0)
    source = {"migrate": old, "unpack": old, "slmset join": root, "slmset split": second}[command]
    option = [] if command == "migrate" else ["--out"]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        found = error(capsys, [*command.split(), str(source), *option, str(new)], 4)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "File too large" in found["detail"]
    assert found["where"] == str(new)
    assert not new.is_file()


def test_inspected_rows(capsys: Capture, tmp_path: Path) -> None:
    path, out = tmp_path / "m.slm", tmp_path / "v.npy"
    path.write_bytes(made())
    inspect = ["inspect", str(path), "--tensor", "layers.0.w1.weight"]
    shown = document(capsys, [*inspect, "--rows", "2:5", "--values", str(out)], 0)
    values = np.load(out)
    assert (values.shape, shown["slice"]["shape"]) == ((3, 6), "3x6")
    assert shown["slice"]["first"][0] == f"{values[0, 0]} ({values.view(np.uint32)[0, 0]:08x})"
    assert sum(row["bytes"] for row in shown["roles"]) == path.stat().st_size
    assert error(capsys, [*inspect, "--rows", "2:99"], 2)["code"] == "INSPECT_ROWS"
    assert error(capsys, [*inspect, "--rows", "last"], 2)["code"] == "INSPECT_ROWS"
    assert error(capsys, ["inspect", str(path), "--tensor", "wq"], 2)["code"] == "INSPECT_TENSOR"
    assert error(capsys, [*inspect, "--values", str(path)], 2)["code"] == "OUTPUT_IS_INPUT"
