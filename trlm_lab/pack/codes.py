"""Codes and scales of a calibrated quantizer as a file: a content-addressed input of the packer.

A safetensors file. `record` (U8) holds canonical CBOR: profile, calibration corpus with lineage,
and of every tensor the SHA-256 of the float32 weights and of the Gram matrix that it was made of.
`NAME.codes` (I8, rows by columns) and `NAME.scales` (one unsigned word a group) follow. The file's
SHA-256 is `codes_id`. Packing it needs no calibration and gives the same bytes everywhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base import canon
from trlm_lab.base.blobs import file_sha256, write_atomically
from trlm_lab.base.safetensors_header import TensorInfo, read_header
from trlm_lab.errors import CodesFileError, CodesMismatchError, TrlmError
from trlm_lab.pack.calibrated import CALIBRATED
from trlm_lab.pack.profiles import Encode, PackProfile, quant_profile_id
from trlm_lab.pack.source import Part, Sources, widened
from trlm_lab.quant import GROUPED
from trlm_lab.quant.coded import Coded
from trlm_lab.slm.numbers import DType

SCHEMA: Final = "trlm.quantized_codes.v1"
_KEYS = {"schema", "profile", "profile_id", "calibration_id", "lineage", "tensors"}
_TYPES = {"int8": "I8", "uint8": "U8", "uint16": "U16"}


@dataclass(frozen=True)
class Codes:
    """An opened file of codes; arrays are mapped."""

    path: Path
    codes_id: str
    record: Mapping[str, Any]
    _infos: Mapping[str, TensorInfo]

    @property
    def profile(self) -> CodedProfile:
        """The profile that packs these codes."""
        storage = CALIBRATED[self.record["profile"]].storage
        return CodedProfile(**vars(storage), codes=self)

    @property
    def calibration_id(self) -> str:
        """The corpus."""
        return str(self.record["calibration_id"])

    def coded(self, name: str, first: int, count: int) -> Coded:
        """Some rows of a tensor."""
        codes, words = self._rows(f"{name}.codes"), self._rows(f"{name}.scales")
        return Coded(codes[first : first + count], words[first : first + count])

    def check(self, sources: Sources) -> None:
        """Refuse a source whose weights are not those that the codes were made of.

        Raises:
            CodesMismatchError: another tensor, shape or weights.
        """
        for name, row in self.record["tensors"].items():
            part = sources.parts.get(name)
            if part is None or list(part.shape) != row["shape"]:
                found = "nothing of this name" if part is None else f"the shape {part.shape}"
                self._mismatch(name, f"{found}, the codes have {row['shape']}")
            elif (got := values_sha256(part)) != row["weights_sha256"]:
                self._mismatch(name, f"other weights, {got[:16]}…")

    def _mismatch(self, name: str, detail: str) -> None:
        raise CodesMismatchError(where=self.path.name, tensor=name, detail=detail)

    def _rows(self, key: str) -> NDArray[Any]:
        info = self._infos[key]
        kind = {"I8": "i1", "U8": "u1", "U16": "<u2"}[info.dtype]
        return np.memmap(self.path, kind, "r", info.begin, info.shape)


@dataclass(frozen=True)
class CodedProfile(PackProfile):
    """A profile whose codes are given; tensors that the file lacks are rounded plainly."""

    codes: Codes

    def encoder(self, dtype: DType) -> Encode:
        """Planes of the codes of the rows that are asked for."""
        plain = super().encoder(dtype)

        def encode(
            rows: NDArray[np.float32], tensor: str, first: int
        ) -> tuple[bytes | memoryview, bytes]:
            if tensor not in self.codes.record["tensors"]:
                return plain(rows, tensor, first)
            return self.codes.coded(tensor, first, len(rows)).planes(
                GROUPED[dtype.name], where=tensor
            )

        return encode


def values_sha256(part: Part) -> str:
    """SHA-256 of the float32 values of a part, in the order of its rows."""
    digest = hashlib.sha256()
    for _, raw in part.blocks():
        values = np.ascontiguousarray(widened(raw, part.stored.info.dtype), "<f4")
        digest.update(values.data.cast("B"))
    return digest.hexdigest()


def write_codes(
    out: Path,
    profile: str,
    lineage: Mapping[str, Any],
    tensors: Mapping[str, tuple[Coded, Mapping[str, Any]]],
) -> Codes:
    """Write codes with the facts of each tensor (`weights_sha256`, `gram_sha256`), sorted by name.

    The same inputs give the same bytes; `out` is replaced whole or not at all.
    """
    record = {
        "schema": SCHEMA,
        "profile": profile,
        "profile_id": quant_profile_id(profile),
        "calibration_id": canon.content_id(dict(lineage)),
        "lineage": dict(lineage),
        "tensors": {
            name: {"shape": list(coded.codes.shape), **facts}
            for name, (coded, facts) in sorted(tensors.items())
        },
    }
    arrays: dict[str, NDArray[Any]] = {"record": np.frombuffer(canon.encode(record), np.uint8)}
    for name, (coded, _) in sorted(tensors.items()):
        arrays[f"{name}.scales"], arrays[f"{name}.codes"] = coded.words, coded.codes
    # Words before bytes, so that every array is aligned.
    order = sorted(arrays, key=lambda key: (-arrays[key].itemsize, key))
    write_atomically(out, _container({key: arrays[key] for key in order}))
    return open_codes(out)


def open_codes(path: Path) -> Codes:
    """Open a file of codes.

    Raises:
        CodesFileError: it is none, or its record is not of these arrays or this version's profile.
        SafetensorsError and its neighbours: as `read_header`.
    """
    infos = {info.name: info for info in read_header(path)}
    try:
        info = infos["record"]
        raw = np.fromfile(path, np.uint8, info.end - info.begin, offset=info.begin)
        record = canon.decode(raw.tobytes())
        keys = set(record)
    except (KeyError, TypeError, TrlmError) as error:
        raise CodesFileError(where=path.name, detail=f"no record: {error}") from error
    if keys != _KEYS or record["schema"] != SCHEMA:
        raise CodesFileError(where=path.name, detail="the record has other keys or another schema")
    name = record["profile"]
    if name not in CALIBRATED or record["profile_id"] != quant_profile_id(name):
        raise CodesFileError(where=path.name, detail=f"the profile {name!r} is not this version's")
    if record["calibration_id"] != canon.content_id(record["lineage"]):
        raise CodesFileError(where=path.name, detail="calibration_id is not that of the lineage")
    for tensor, row in record["tensors"].items():
        storage = CALIBRATED[name].storage
        form = GROUPED[storage.matrices.name]
        rows, cols = row["shape"]
        wanted = {"codes": ("I8", (rows, cols)), "scales": ("U16", (rows, form.groups(cols)))}
        for plane, expected in wanted.items():
            found = infos.get(f"{tensor}.{plane}")
            if found is None or (found.dtype, found.shape) != expected:
                raise CodesFileError(where=path.name, detail=f"{tensor}.{plane} is not {expected}")
    return Codes(path, file_sha256(path), record, infos)


def _container(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """u64 length, compact JSON with spaces up to a multiple of 8, the arrays."""
    rows, at = {}, 0
    for key, array in arrays.items():
        end = at + array.nbytes
        kind = _TYPES[array.dtype.name]
        rows[key] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(rows, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    body = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays.values())
    return len(text).to_bytes(8, "little") + text + body
