"""The committed WebAssembly modules and the records of how they were made."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trlm_lab.backends.runtime_source import LANES_PROFILE, PROFILE
from trlm_lab.base import strict_json
from trlm_lab.errors import TrlmError, WasmModuleError

MODULE = Path(__file__).resolve().parent / "wasm" / "trlm_scalar.wasm"
#: The same sources for four lanes a register; no relaxed operation.
SIMD_MODULE = MODULE.with_name("trlm_simd.wasm")
MODULES = {PROFILE: MODULE, LANES_PROFILE: SIMD_MODULE}
RECORD = MODULE.with_suffix(".json")
SCHEMA = "trlm.wasm_module.v1"


@dataclass(frozen=True)
class WasmRecord:
    """Name and hash of the module, compiler and linker that made it, their options, the sources."""

    module: str
    sha256: str
    version: str
    compiler: str
    linker: str
    flags: tuple[str, ...]
    sources_sha256: str

    def to_map(self) -> dict[str, Any]:
        """The record as JSON holds it."""
        return {"schema": SCHEMA, **vars(self), "flags": list(self.flags)}


def read_record(path: Path = RECORD) -> WasmRecord:
    """The record beside the module.

    Raises:
        WasmModuleError: missing, or not of this schema.
    """
    try:
        row = strict_json.load_object(path)
        known = {name: row[name] for name in WasmRecord.__dataclass_fields__}
        if row["schema"] != SCHEMA:
            raise ValueError(f"schema {row['schema']!r}")
        return WasmRecord(**{**known, "flags": tuple(known["flags"])})
    except TrlmError as error:
        raise _no_record(path, error.detail) from error
    except (ValueError, KeyError, TypeError) as error:
        raise _no_record(path, f"{type(error).__name__}: {error}") from error


def _no_record(path: Path, detail: str) -> WasmModuleError:
    return WasmModuleError(where=path.name, detail=f"no record of the module ({detail})")


def read_module(path: Path = MODULE) -> tuple[bytes, WasmRecord]:
    """The module's bytes, checked against the record.

    Raises:
        WasmModuleError: missing, or other bytes than the record names.
    """
    record = read_record(path.with_suffix(".json"))
    try:
        data = path.read_bytes()
    except OSError as error:
        raise WasmModuleError(where=path.name, detail="is not there") from error
    got = hashlib.sha256(data).hexdigest()
    if got != record.sha256:
        detail = f"the bytes hash to {got}, the record says {record.sha256}"
        raise WasmModuleError(where=path.name, detail=detail)
    return data, record
