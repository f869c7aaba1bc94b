"""`trlm check` and `trlm acquire` apply the same rules; every finding says what to do."""

import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from trlm_lab import errors
from trlm_lab.acquire import acquire
from trlm_lab.flows.checking import approval, check_path

INDEX = "model.safetensors.index.json"
SHARDS = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")


@pytest.fixture
def model(raw_model: Path) -> Path:
    """The directory that each test breaks in its own way."""
    return raw_model


def weights(root: Path, change: Callable[[dict[str, Any]], object]) -> None:
    tensors = dict(load_file(root / "model.safetensors"))
    change(tensors)
    save_file(tensors, root / "model.safetensors")


def config(root: Path, **changes: Any) -> None:
    row = json.loads((root / "config.json").read_bytes())
    (root / "config.json").write_text(json.dumps({**row, **changes}))


def sharded(root: Path, drop: str = "", total: int | None = None) -> None:
    tensors = dict(load_file(root / "model.safetensors"))
    names = sorted(tensors)
    parts = {SHARDS[0]: names[:10], SHARDS[1]: names[10:]}
    for file, held in parts.items():
        if file != drop:
            save_file({name: tensors[name] for name in held}, root / file)
    size = sum(array.nbytes for array in tensors.values()) if total is None else total
    table = {name: file for file, held in parts.items() for name in held}
    row = {"metadata": {"total_size": size}, "weight_map": table}
    (root / INDEX).write_text(json.dumps(row))
    (root / "model.safetensors").unlink()


def different_head(tensors: dict[str, Any]) -> None:
    tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"] + np.float32(1)


def identical_head(tensors: dict[str, Any]) -> None:
    tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"].copy()


def swapped_shape(tensors: dict[str, Any]) -> None:
    name = "model.layers.0.mlp.up_proj.weight"
    tensors[name] = np.ascontiguousarray(tensors[name].T)


def half(tensors: dict[str, Any]) -> None:
    tensors.update({name: array.astype(np.float16) for name, array in tensors.items()})


def poisoned(tensors: dict[str, Any]) -> None:
    tensors["model.norm.weight"][3] = np.nan


def file(name: str, data: bytes = b"") -> Callable[[Path], object]:
    def plant(root: Path) -> None:
        (root / name).parent.mkdir(exist_ok=True, parents=True)
        (root / name).write_bytes(data)

    return plant


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "code": (file("modeling_x.py"), "TREE"),
    "code below": (file("sub/x.py"), "TREE"),
    "hidden code": (file(".hidden.py"), "TREE"),
    "a pickle": (file("pytorch_model.bin"), "TREE"),
    "another pickle": (file("x.pkl"), "TREE"),
    "an archive": (file("x.tar.gz"), "TREE"),
    "a link": (lambda r: (r / "merges.txt").symlink_to("/etc/hostname"), "TREE"),
    "a hard-to-see link": (lambda r: (r / ".x").symlink_to("/etc"), "TREE"),
    "a pipe": (lambda r: os.mkfifo(r / "tokenizer.json"), "TREE"),
    "a pipe as configuration": (
        lambda r: ((r / "config.json").unlink(), os.mkfifo(r / "config.json")), "TREE"
    ),
    "a submodule": (file("sub/.git", b"gitdir: ../.git/modules/sub"), "TREE"),
    "a repository below": (file("sub/.git/HEAD"), "TREE"),
    "a list of submodules": (file(".gitmodules"), "TREE"),
    "a worktree": (file(".git", b"gitdir: /elsewhere"), "TREE"),
    "adapter weights": (file("adapter_model.safetensors"), "TREE"),
    "an index without shards": (
        lambda r: (sharded(r), [(r / s).unlink() for s in SHARDS]), "SHARDS"
    ),
    "shards without an index": (lambda r: (sharded(r), (r / INDEX).unlink()), "SHARDS"),
    "one shard of two": (lambda r: sharded(r, drop=SHARDS[1]), "SHARDS"),
    "one shard and no index": (
        lambda r: (sharded(r, drop=SHARDS[1]), (r / INDEX).unlink()), "SHARDS"
    ),
    "another total": (lambda r: sharded(r, total=17), "SHARDS"),
    "a shard beside the whole": (
        lambda r: shutil.copyfile(r / "model.safetensors", r / SHARDS[0]), "SHARDS"
    ),
    "an index that is no JSON": (lambda r: (sharded(r), (r / INDEX).write_text("{")), "JSON"),
    "a different head": (lambda r: weights(r, different_head), "TIED_CONFLICT"),
    "no head": (lambda r: config(r, tie_word_embeddings=False), "TIED_CONFLICT"),
    "another shape": (lambda r: weights(r, swapped_shape), "TENSOR_SHAPE"),
    "a missing tensor": (
        lambda r: weights(r, lambda t: t.pop("model.norm.weight")), "TENSOR_MISSING"
    ),
    "an extra tensor": (
        lambda r: weights(r, lambda t: t.update(odd=np.zeros(1, np.float32))), "TENSOR_UNKNOWN"
    ),
    "a NaN": (lambda r: weights(r, poisoned), "NONFINITE"),
    "integers": (
        lambda r: weights(r, lambda t: t.update(odd=np.zeros(1, np.int64))), "DTYPE"
    ),
    "a broken container": (file("model.safetensors"), "TRUNCATED"),
    "a conflict": (lambda r: config(r, eos_token_id=5), "EOS_CONFLICT"),
    "an unknown key": (lambda r: config(r, odd=1), "UNKNOWN_FIELD"),
    "a billion layers": (lambda r: config(r, num_hidden_layers=10**9), "FIELD_VALUE"),
    "two rotary bases": (
        lambda r: config(r, rope_parameters={"rope_theta": 5.0}), "ROPE_CONFLICT"
    ),
    "a bad tokenizer": (file("tokenizer.json", b'{"model": {"type": "New"}}'),
                        "TOKENIZER_INCOMPLETE"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_what_a_check_refuses_cannot_be_acquired(model: Path, name: str) -> None:
    plant, code = BROKEN[name]
    plant(model)
    found = [f for f in check_path(model)["findings"] if f["level"] == "error"]
    assert code in [f["code"] for f in found]
    with pytest.raises(errors.Refused) as caught:
        acquire(f"dir:{model}", approve=approval())
    stated = caught.value.facts.get("codes", caught.value.code).split(", ")
    assert set(stated) & {f["code"] for f in found}


SOUND: dict[str, Callable[[Path], object]] = {
    "as it is": lambda r: None,
    "in halves": lambda r: weights(r, half),
    "in shards": sharded,
    "a tied head that is a copy": lambda r: weights(r, identical_head),
    "a clone with its own repository": file(".git/config"),
    "other files": file("images/picture.png"),
    "a second template folder": file("additional_chat_templates/tool.jinja", b"{{ x }}"),
}


@pytest.mark.parametrize("name", SOUND)
def test_what_a_check_accepts_can_be_acquired(model: Path, name: str) -> None:
    SOUND[name](model)
    assert check_path(model)["verdict"] == "accept"
    snapshot = acquire(f"dir:{model}", approve=approval())
    assert check_path(snapshot.root)["verdict"] == "accept"


def test_a_broken_file_is_reported_once(model: Path) -> None:
    (model / "model.safetensors").write_bytes(struct.pack("<Q", 99))
    found = check_path(model)["findings"]
    assert [f["code"] for f in found if f["level"] == "error"] == ["HEADER_LEN"]


def test_a_file_that_is_not_taken_is_a_note(model: Path) -> None:
    (model / "picture.png").write_bytes(b"")
    notes = [f for f in check_path(model)["findings"] if f["code"] == "NOT_TAKEN"]
    assert [(f["level"], f["detail"]) for f in notes] == [("note", "not taken: picture.png")]


def artifact(root: Path, tmp_path: Path) -> Path:
    broken = tmp_path / "broken.slm"
    broken.write_bytes(b"SLM2" + bytes(5000))
    return broken


def small_file(name: str, data: bytes) -> Callable[[Path, Path], Path]:
    def make(root: Path, tmp_path: Path) -> Path:
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return make


REFUSED: dict[str, Callable[[Path, Path], Path]] = {
    "slm": artifact,
    "safetensors": small_file("x.safetensors", b""),
    "gguf": small_file("x.gguf", b"GGUF"),
    "tokenizer": small_file("tokenizer.json", b"{}"),
    "tokenizer by its content": small_file("other.json", b'{"model": {"type": "New"}}'),
    "no json": small_file("tokenizer.json", b"{"),
    "directory": lambda root, tmp_path: (config(root, odd=1, eos_token_id=9), root)[1],
    "an empty directory": lambda root, tmp_path: (tmp_path / "empty").mkdir() or tmp_path / "empty",
}


@pytest.mark.parametrize("name", REFUSED)
def test_every_finding_has_code_place_detail_fix_and_level(
    model: Path, tmp_path: Path, name: str
) -> None:
    document = check_path(REFUSED[name](model, tmp_path))
    assert document["verdict"] == "refuse"
    for finding in document["findings"]:
        for key in ("code", "where", "detail", "fix", "level"):
            assert finding[key].strip(), (finding, key)


def test_what_is_no_container_is_not_checked(tmp_path: Path) -> None:
    for name, data in (("a.txt", b"x"), ("a.json", b"{}"), ("b.json", b"{"), ("c.json", b"[]")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(errors.UncheckableError):
            check_path(tmp_path / name)
    with pytest.raises(errors.PathMissingError):
        check_path(tmp_path / "none")
