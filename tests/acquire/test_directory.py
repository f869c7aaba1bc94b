"""Local model directories become snapshots; what is no plain data is refused."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tests.acquire.conftest import SmallGguf
from trlm_lab import errors
from trlm_lab.acquire import (
    HubRules,
    LicenceDecision,
    TreeProfile,
    acquire,
    directory_tree,
    export_snapshot,
    shards,
)
from trlm_lab.acquire.tree_profile import Permission
from trlm_lab.base.reviewed_file import ReviewedFile

CONFIG = b'{"model_type": "llama"}'


@pytest.fixture
def model(tmp_path: Path) -> Path:
    root = tmp_path / "model"
    root.mkdir()
    (root / "config.json").write_bytes(CONFIG)
    (root / "LICENSE").write_bytes(b"text")
    save_file({"w": np.arange(6, dtype=np.float32).reshape(2, 3)}, root / "model.safetensors")
    return root


def sharded(root: Path, **weight_map: str) -> None:
    (root / "model.safetensors").unlink()
    for number, name in ((1, "a"), (2, "b")):
        file = root / f"model-0000{number}-of-00002.safetensors"
        save_file({name: np.full(2, number, np.float32)}, file)
    row = {"metadata": {}, "weight_map": weight_map}
    (root / "model.safetensors.index.json").write_bytes(json.dumps(row).encode())


GOOD_MAP = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}


@pytest.mark.parametrize("form", ["dir:{}", "{}"])
def test_documents_are_copied_and_weights_written(model: Path, form: str) -> None:
    snapshot = acquire(form.format(model))
    assert (snapshot.root / "config.json").read_bytes() == CONFIG
    assert (snapshot.root / "LICENSE").read_bytes() == b"text"
    assert load_file(snapshot.root / "model.safetensors")["w"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert snapshot.provenance["weights_on_quantized_grid"] == ""
    assert snapshot.pin.spelled == "dir:model"


def test_half_floats_are_widened_exactly(model: Path) -> None:
    half = np.array([1.0009765625, -6e-8], np.float16)
    brain = np.array([3.140625, 1e-38], ml_dtypes.bfloat16)
    save_file({"h": half, "b": brain}, model / "model.safetensors")
    snapshot = acquire(str(model))
    loaded = load_file(snapshot.root / "model.safetensors")
    assert loaded["h"].tobytes() == half.astype(np.float32).tobytes()
    assert loaded["b"].tobytes() == brain.astype(np.float32).tobytes()
    rows = {row["name"]: row["transforms"] for row in snapshot.provenance["tensors"]}
    assert rows["b"] == [["widen", {"from": "BF16", "to": "F32"}]]


def test_integers_are_no_weights(model: Path) -> None:
    save_file({"i": np.zeros(2, np.int64)}, model / "model.safetensors")
    with pytest.raises(errors.SafetensorsDtypeError, match="'I64'"):
        acquire(str(model))


def test_shards_are_joined(model: Path) -> None:
    sharded(model, **GOOD_MAP)
    snapshot = acquire(str(model))
    assert sorted(load_file(snapshot.root / "model.safetensors")) == ["a", "b"]
    assert snapshot.file("model.safetensors.index.json") is None


@pytest.mark.parametrize(
    ("weight_map", "words"),
    [
        ({**GOOD_MAP, "c": GOOD_MAP["a"]}, "'c' is not in"),
        ({"a": GOOD_MAP["a"]}, "'b' is not declared"),
        ({"a": GOOD_MAP["b"], "b": GOOD_MAP["b"]}, "'a' is not in"),
        ({**GOOD_MAP, "d": "model-00003-of-00003.safetensors"}, "shard 'model-00003.*not there"),
    ],
)
def test_an_index_that_contradicts_its_shards_is_refused(
    model: Path, weight_map: dict[str, str], words: str
) -> None:
    sharded(model, **weight_map)
    with pytest.raises(errors.ShardError, match=words):
        acquire(str(model))


def test_a_tensor_in_two_shards_is_refused(model: Path) -> None:
    sharded(model, **GOOD_MAP)
    save_file({"a": np.zeros(2, np.float32)}, model / GOOD_MAP["b"])
    with pytest.raises(errors.ShardError, match="lies in model-00001"):
        acquire(str(model))


def test_shards_without_index_are_refused(model: Path) -> None:
    sharded(model, **GOOD_MAP)
    (model / "model.safetensors.index.json").unlink()
    with pytest.raises(errors.ShardError, match="without model"):
        acquire(str(model))


@pytest.mark.parametrize(
    ("tail", "words"),
    [(b" " * shards.MAX_INDEX_BYTES, "the limit is 16777216"), (b"," * 3_000_001, "stand in it")],
)
def test_an_index_beyond_its_limits_is_refused(model: Path, tail: bytes, words: str) -> None:
    sharded(model, **GOOD_MAP)
    index = model / "model.safetensors.index.json"
    index.write_bytes(index.read_bytes() + tail)
    with pytest.raises(errors.JsonError, match=words):
        acquire(str(model))


Plant = Callable[[Path], object]
STRANGE: dict[str, tuple[Plant, str]] = {
    "code": (lambda r: (r / "modeling.py").write_bytes(b""), "code, pickles or archives"),
    "a pickle": (lambda r: (r / "pytorch_model.bin").write_bytes(b""), "code, pickles or archives"),
    "an archive": (lambda r: (r / "x.TAR").write_bytes(b""), "code, pickles or archives"),
    "code below": (lambda r: ((r / "d").mkdir(), (r / "d" / "x.so").write_bytes(b"")), "code"),
    "a link": (lambda r: (r / "merges.txt").symlink_to("/etc/hostname"), "this is a link"),
    "depth": (lambda r: (r / "a/b/c/d/e").mkdir(parents=True), "deeper than 4"),
    "no config": (lambda r: (r / "config.json").unlink(), "a model directory has"),
    "no weights": (lambda r: (r / "model.safetensors").unlink(), "a model directory has"),
}


@pytest.mark.parametrize("name", STRANGE)
def test_a_tree_that_is_no_plain_data_is_refused(model: Path, name: str) -> None:
    plant, words = STRANGE[name]
    plant(model)
    with pytest.raises(errors.TreeError, match=words):
        acquire(f"dir:{model}")


def test_limits_hold(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_tree, "MAX_FILES", 2)
    with pytest.raises(errors.TreeError, match="too many"):
        acquire(str(model))


def test_other_files_are_listed_and_not_taken(model: Path) -> None:
    (model / ".git").mkdir()
    (model / "picture.png").write_bytes(b"")
    snapshot = acquire(str(model))
    empty = hashlib.sha256(b"").hexdigest()
    row = {"name": b"picture.png", "size": 0, "sha256": empty}
    assert snapshot.provenance["ignored"] == [row]
    assert snapshot.file("picture.png") is None


def test_documents_must_be_strict_json(model: Path) -> None:
    (model / "generation_config.json").write_bytes(b'{"a": 1, "a": 2}')
    with pytest.raises(errors.JsonDuplicateKeyError, match=r"generation_config\.json"):
        acquire(str(model))


def test_a_source_written_to_meanwhile_is_refused(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trlm_lab.acquire import sources

    convert = sources.convert_directory

    def meddled(*arguments: object) -> dict[str, object]:
        provenance = convert(*arguments)  # type: ignore[arg-type]
        (model / "LICENSE").write_bytes(b"another text")
        return provenance

    monkeypatch.setattr(sources, "convert_directory", meddled)
    with pytest.raises(errors.SourceChangedError, match="changed while"):
        acquire(str(model))


def _put_back(root: Path) -> None:
    """Another text, read by whoever reads now, and the old one again."""
    text = (root / "LICENSE").read_bytes()
    (root / "LICENSE").write_bytes(b"TEXT")
    (root / "LICENSE").write_bytes(text)


MEANWHILE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a declaration": (
        lambda root: (root / "generation_config.json").write_bytes(b"{}"),
        "'generation_config.json' came",
    ),
    "a template": (lambda root: (root / "chat_template.jinja").write_bytes(b"x"), "came"),
    "code": (lambda root: (root / "evil.py").write_bytes(b""), "'evil.py' came"),
    "a link": (lambda root: (root / "x").symlink_to("LICENSE"), "'x' came"),
    "a folder": (lambda root: (root / "deep").mkdir(), "'deep/' came"),
    "a file in a folder": (lambda root: (root / "sub" / "b.png").write_bytes(b""), "'sub/b.png'"),
    "a file that is not taken": (lambda root: (root / "a.png").write_bytes(b"x"), "was written"),
    "one less": (lambda root: (root / "sub" / "a.png").unlink(), "'sub/a.png' is gone"),
    "a file that was put back": (_put_back, "'LICENSE' was written"),
}


@pytest.mark.parametrize("name", MEANWHILE)
def test_a_source_whose_files_are_others_at_the_end_is_refused(model: Path, name: str) -> None:
    act, words = MEANWHILE[name]
    (model / "sub").mkdir()
    for path in (model / "a.png", model / "sub" / "a.png"):
        path.write_bytes(b"")
    done: list[str] = []

    def meddle(what: str, count: int, total: int) -> None:
        if what == "write tensors" and not done:
            done.append(what)
            act(model)

    with pytest.raises(errors.SourceChangedError, match=words):
        acquire(str(model), progress=meddle)
    assert done


def test_a_clone_that_is_used_meanwhile_is_the_same_source(model: Path) -> None:
    (model / ".git").mkdir()

    def used(what: str, count: int, total: int) -> None:
        (model / ".git" / "index").write_bytes(b"x")

    made = acquire(str(model), progress=used)
    assert (model / ".git" / "index").exists()
    assert acquire(str(model)).snapshot_id == made.snapshot_id


def test_a_gguf_file_that_was_put_back_is_refused(small_gguf: Callable[..., SmallGguf]) -> None:
    path = small_gguf().path

    def meddle(what: str, count: int, total: int) -> None:
        if what == "write tensors":
            path.write_bytes(path.read_bytes())

    with pytest.raises(errors.SourceChangedError, match=r"'small\.gguf' was written"):
        acquire(f"gguf:{path}", progress=meddle)


def test_a_gguf_file_behind_a_link(small_gguf: Callable[..., SmallGguf], tmp_path: Path) -> None:
    (tmp_path / "link.gguf").symlink_to(small_gguf().path)
    assert acquire(f"gguf:{tmp_path / 'link.gguf'}").pin.locator == "link.gguf"


def test_an_exported_snapshot_is_used_where_it_lies(tmp_path: Path) -> None:
    snapshot = acquire("synthetic:llama-small")
    copy = export_snapshot(snapshot, tmp_path / "out" / "copy")
    assert copy.root == tmp_path / "out" / "copy"
    again = acquire(str(copy.root))
    assert again.root == copy.root
    assert again.snapshot_id == snapshot.snapshot_id
    assert export_snapshot(snapshot, copy.root).snapshot_id == snapshot.snapshot_id


OID = "ab" * 32
POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{OID}\nsize 4096\n"


@pytest.mark.parametrize(
    "text",
    [
        POINTER,
        POINTER.replace("\n", "\r\n"),
        POINTER.replace("git-lfs", "hawser"),
        POINTER.replace("oid", f"ext-0-a sha256:{'cd' * 32}\noid"),
    ],
)
@pytest.mark.parametrize(
    "name", ["model.safetensors", "tokenizer.model", "LICENSE", "deep/picture.png"]
)
def test_lfs_pointer(model: Path, name: str, text: str) -> None:
    (model / name).parent.mkdir(exist_ok=True)
    (model / name).write_bytes(text.encode())
    with pytest.raises(errors.LfsPointerError, match=OID) as caught:
        acquire(str(model))
    assert caught.value.where.endswith(name)


def test_a_pointer_in_the_place_of_a_gguf_file(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_text(POINTER)
    with pytest.raises(errors.LfsPointerError, match=OID):
        acquire(f"gguf:{tmp_path / 'm.gguf'}")


def test_the_family_bounds_its_documents(model: Path) -> None:
    (model / "special_tokens_map.json").write_bytes(b"{}" + b" " * (1 << 20))
    with pytest.raises(errors.TreeError, match="allow-list of llama") as caught:
        acquire(str(model))
    assert caught.value.where.endswith("special_tokens_map.json")
    (model / "config.json").write_bytes(b'{"model_type": "mamba"}')
    assert acquire(str(model)).provenance["allow_list"]["family"] == "general"


def test_all_licence_texts_are_in_the_row_of_the_licence(model: Path) -> None:
    (model / "NOTICE.md").write_bytes(b"by Ada")
    licence = acquire(str(model)).provenance["licence"]
    assert [row["path"] for row in licence["texts"]] == ["LICENSE", "NOTICE.md"]
    assert licence["cards"] == []


def test_hub_option(model: Path, tmp_path: Path) -> None:
    """Nothing that was given is passed over in silence."""
    decided = HubRules(decision=LicenceDecision({}, ReviewedFile(tmp_path / "d.json", b"{}")))
    profile = HubRules(profile=TreeProfile((Permission("onnx/*", "exports", "Ada"),)))
    finished = acquire(f"dir:{model}", rules=HubRules()).root
    for rules, words, source in (
        (decided, "licence decision has no place here", "synthetic:llama-small"),
        (decided, "licence decision has no place here", f"dir:{finished}"),
        (profile, "tree profile is about a repository of a Hub", "synthetic:llama-small"),
        (profile, "tree profile is about a repository of a Hub", f"dir:{model}"),
    ):
        with pytest.raises(errors.HubOptionError, match=words):
            acquire(source, rules=rules)


def test_what_a_header_refuses_is_not_hashed(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of a hundred gigabytes is refused by its first kilobytes."""

    def never(path: Path) -> str:
        raise AssertionError(f"{path} was hashed")

    monkeypatch.setattr("trlm_lab.acquire.sources.file_sha256", never)
    weights = model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4])
    with pytest.raises(errors.SafetensorsError):
        acquire(f"dir:{model}")
    gguf = tmp_path / "m.gguf"
    gguf.write_bytes(b"GGUF" + bytes(20))
    with pytest.raises(errors.GgufError):
        acquire(str(gguf))
