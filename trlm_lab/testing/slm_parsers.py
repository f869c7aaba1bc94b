"""What every byte string must give the readers of `.slm` files and sets, for long fuzzing.

Nothing but a refusal of this project or acceptance: no other exception, no trap of the WebAssembly
module, and no two readers of one verdict each.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from trlm_lab.backends.wasm_module import MODULE
from trlm_lab.backends.wasm_wasmtime import WasmtimeHost
from trlm_lab.base import canon
from trlm_lab.errors import NotCanonicalError, SlmError, SlmsetError
from trlm_lab.slmset import check_set, join, split
from trlm_lab.testing.container_judges import (
    FORMLESS,
    TOKENIZER,
    by_inspector,
    by_python,
    by_runtime,
)
from trlm_lab.testing.container_lies import LIES, lied
from trlm_lab.testing.container_parsers import ACCEPTED
from trlm_lab.testing.container_sealing import sealed
from trlm_lab.testing.slm1_lies import KINDS, slm1_lied
from trlm_lab.testing.sound_containers import LARGE, RECIPES, SLM1_FILES, slm1_file, slm2_file

Edit = Callable[[bytes, bytes, Random], bytes]


def slm_input(data: bytes, path: Path) -> str:
    """The Python reader's code of a file, or ACCEPTED, when the inspector judges alike.

    Raises:
        AssertionError: the two readers judge apart, or a refusal lacks its form.
    """
    code, findings = by_python(data), by_inspector(data)
    if code == TOKENIZER:
        # What a compiled tokenizer's sections hold is no business of the inspector.
        return code
    assert code in findings or not (code or findings), f"{code or ACCEPTED}, {sorted(findings)}"
    return code or ACCEPTED


@cache
def _module() -> WasmtimeHost:
    return WasmtimeHost(MODULE.read_bytes())


def wasm_input(data: bytes, path: Path) -> str:
    """The WebAssembly runtime's name of a rule, or ACCEPTED; a trap is a RuntimeTrapError."""
    return by_runtime(_module(), data) or ACCEPTED


def set_input(data: bytes, path: Path) -> str:
    """What `check` and `join` say of a set, whose files `data` holds as a map in CBOR.

    Raises:
        AssertionError: `join` makes a file of a set that `check` finds at fault.
    """
    root, whole = path.with_name("set"), path.with_name("whole.slm")
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for left in path.parent.glob(".whole.slm.*"):
        left.unlink()  # a join goes on with the pieces that another one left
    try:
        files = canon.decode(data)
    except NotCanonicalError:
        return "no set"
    for name, content in files.items():
        (root / name).write_bytes(content)
    codes = [finding["code"] for finding in check_set(root)]
    try:
        join(root, whole)
    except (SlmsetError, SlmError) as error:
        if not all((error.where, error.detail, error.remedy)):
            raise AssertionError(f"{error.code} {FORMLESS}") from error
        return codes[0] if codes else error.code
    assert not codes, f"joined, though {codes}"
    return ACCEPTED


def slm_seeds() -> list[bytes]:
    """Sound files of both versions."""
    names = [name for name in RECIPES if name not in LARGE]
    return [*map(slm2_file, names), *map(slm1_file, SLM1_FILES)]


def lying(data: bytes, other: bytes, draw: Random) -> bytes:
    """One to three lies in the fields of a file, or edits anywhere; three of four sealed again."""
    count = draw.choice((1, 1, 1, 2, 3))
    if data[:4] == b"SLM1":
        changed = slm1_lied(data, draw, *draw.choices(KINDS, k=count))
    else:
        changed = lied(data, draw, *draw.choices(list(LIES), k=count))
    return sealed(changed) if draw.randrange(4) else changed


def set_seeds(work: Path) -> list[bytes]:
    """Sets of each codec, of one piece and of two in two shards."""
    found = []
    for name in ("q4_g64-fp16", "wide"):
        source = work / f"{name}.slm"
        source.write_bytes(slm2_file(name))
        for codec in ("none", "zstd", "brotli"):
            root = work / f"{name}-{codec}"
            split(source, root, codec=codec, shard_pieces=1)
            found.append(canon.encode({p.name: p.read_bytes() for p in sorted(root.iterdir())}))
    return found


def set_lying(data: bytes, other: bytes, draw: Random) -> bytes:
    """Lies in the manifest, or damaged bytes of a file; hashes above them often made to hold."""
    files: dict[str, bytes] = canon.decode(data)
    for _ in range(draw.choice((1, 1, 2))):
        if draw.randrange(2):
            _lie_in_manifest(files, draw)
        else:
            _damage(files, draw)
    return canon.encode(files)


def _lie_in_manifest(files: dict[str, bytes], draw: Random) -> None:
    raw = bytearray(files["manifest.cbor"])
    if not raw:
        return
    if draw.randrange(4) == 0:
        raw[draw.randrange(len(raw))] = draw.randrange(256)
        files["manifest.cbor"] = bytes(raw)
        return
    try:
        manifest = canon.decode(bytes(raw))
    except NotCanonicalError:
        return
    maps = [row for row in _maps_in(manifest) if row]
    if not maps:
        return
    target = draw.choice(maps)
    key = draw.choice(sorted(target))
    old = target[key]
    edges = (0, 1, 2, 3, 4096, 1 << 20, 2 << 20, (2 << 20) + 1, 1 << 31, 1 << 32, (1 << 64) - 1)
    if isinstance(old, int) and draw.randrange(8):
        steps = (old + 1, max(old - 1, 0), old + 4096)
        target[key] = draw.choice((*edges, *steps)) % (1 << 64)
    else:
        target[key] = draw.choice((None, 1, "x", b"", bytes(32), [], {}, True, old))
    files["manifest.cbor"] = canon.encode(manifest)


def _maps_in(value: Any) -> list[dict[str, Any]]:
    """The value and the rows of its lists, where they are maps."""
    if not isinstance(value, dict):
        return []
    lists = [item for item in value.values() if isinstance(item, list)]
    return [value, *(row for rows in lists for row in rows if isinstance(row, dict))]


def _damage(files: dict[str, bytes], draw: Random) -> None:
    name = draw.choice(sorted(files))
    content = bytearray(files[name])
    kind = draw.randrange(5)
    if kind == 0:
        del files[name]
        files.setdefault("manifest.cbor", b"")
        return
    if kind == 1:
        del content[draw.randrange(len(content) + 1) :]
    elif kind == 2:
        content += bytes(draw.randrange(1, 9))
    elif content:
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    files[name] = bytes(content)
    if draw.randrange(4):
        _seal_set(files)


def _seal_set(files: dict[str, bytes]) -> None:
    """Hashes and lengths of the stored bytes as they are now; a decoder then sees them."""
    from hashlib import sha256

    try:
        manifest = canon.decode(files["manifest.cbor"])
        for row in manifest["shards"]:
            stored = files.get(f"shard-{row['shard_index']:05d}.bin", b"")
            row["shard_len"], row["shard_sha256"] = len(stored), sha256(stored).digest()
        for row in manifest["pieces"]:
            stored = files.get(f"shard-{row['shard_index']:05d}.bin", b"")
            last = row["file_off"] + row["stored_len"] >= len(stored) - 16
            row["stored_len"] = len(stored) - row["file_off"] if last else row["stored_len"]
            part = stored[row["file_off"] : row["file_off"] + row["stored_len"]]
            row["stored_sha256"] = sha256(part).digest()
        front = files.get("front.bin", b"")
        manifest["front_sha256"] = sha256(front).digest()
        files["manifest.cbor"] = canon.encode(manifest)
    except (NotCanonicalError, KeyError, TypeError, ValueError, OverflowError):
        return


TARGETS: dict[str, Callable[[bytes, Path], str]] = {
    "slm": slm_input,
    "wasm": wasm_input,
    "slmset": set_input,
}
MUTATORS: dict[str, Edit] = {"slm": lying, "wasm": lying, "slmset": set_lying}
