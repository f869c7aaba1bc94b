"""Everything about the machine and the framework that may change a bit of the oracle.

No times, host names or absolute paths: two runs in one environment give the same record.
"""

from __future__ import annotations

import csv
import io
import os
import platform
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from trlm_lab.base import canon
from trlm_lab.base.blobs import file_sha256
from trlm_lab.errors import OracleMissingError
from trlm_lab.oracle.families import FAMILIES
from trlm_lab.oracle.waiting import wait_passively

#: Environment variables that reach the arithmetic; no other variable is looked at.
VARIABLES: tuple[str, ...] = (
    "ATEN_CPU_CAPABILITY",
    "DNNL_MAX_CPU_ISA",
    "GOMP_CPU_AFFINITY",
    "KMP_AFFINITY",
    "MKL_CBWR",
    "MKL_DEBUG_CPU_TYPE",
    "MKL_DYNAMIC",
    "MKL_ENABLE_INSTRUCTIONS",
    "MKL_NUM_THREADS",
    "OMP_DYNAMIC",
    "OMP_NUM_THREADS",
    "ONEDNN_DEFAULT_FPMATH_MODE",
    "ONEDNN_MAX_CPU_ISA",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "USE_HUB_KERNELS",
)

#: The source files whose arithmetic the oracle runs, below the transformers package.
SOURCES: tuple[str, ...] = (
    "activations.py",
    "cache_utils.py",
    "integrations/hub_kernels.py",
    "masking_utils.py",
    "modeling_rope_utils.py",
    *(source for family in FAMILIES.values() for source in family.sources),
    "pytorch_utils.py",
)


@cache
def package_version(name: str) -> str:
    """The installed version. Raises OracleMissingError."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError as error:
        detail = f"the package {name} is not installed"
        raise OracleMissingError(where=name, detail=detail) from error


def framework() -> str:
    """Names and versions of the source framework."""
    names = ("transformers", "torch")
    return ", ".join(f"{name} {package_version(name)}" for name in names)


@cache
def source_hashes() -> dict[str, str]:
    """SHA-256 of each source file that the oracle runs."""
    package_version("transformers")
    base = Path(str(metadata.distribution("transformers").locate_file("transformers")))
    return {f"transformers/{name}": file_sha256(base / name) for name in SOURCES}


@cache
def exporter_sha256() -> str:
    """Content id of the capture's own source files."""
    room = Path(__file__).parent
    files = sorted((file.relative_to(room).as_posix(), file) for file in room.rglob("*.py"))
    return canon.content_id([[name, file_sha256(file)] for name, file in files])


@cache
def _installed_files(package: str, prefix: str, suffixes: tuple[str, ...]) -> str:
    """Content id of the hashes that the wheel's own RECORD declares for some of its files."""
    record = metadata.distribution(package).read_text("RECORD") or ""
    rows = [row for row in csv.reader(io.StringIO(record)) if len(row) == 3 and row[1]]
    wanted = [[path, digest] for path, digest, _ in rows if path.startswith(prefix)]
    return canon.content_id(sorted(row for row in wanted if row[0].endswith(suffixes)))


def environment_record(threads: int = 2, dtype: str = "float32") -> dict[str, Any]:
    """The environment as a canonical map.

    Raises:
        OracleMissingError: torch or transformers is not installed.
    """
    packages = ("torch", "transformers", "numpy", "safetensors")
    versions = {name: package_version(name) for name in packages}
    wait_passively()
    import torch

    from trlm_lab.oracle.settings import pin_process, settings_map

    pin_process()
    libc = " ".join(platform.libc_ver()).strip()
    return {
        "schema": "trlm.oracle.environment.v1",
        "python": platform.python_version(),
        "packages": versions,
        "torch_build": canon.sha256_hex(torch.__config__.show().encode()),
        "torch_libraries": _installed_files("torch", "torch/", (".so",)),
        "transformers_files": _installed_files("transformers", "transformers/", (".py",)),
        "sources": source_hashes(),
        "exporter": exporter_sha256(),
        "system": {"kernel": platform.system(), "machine": platform.machine(), "libc": libc},
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "device": "cpu",
        "dtype": dtype,
        "attention": "eager",
        "threads": threads,
        "settings": settings_map(),
        "variables": {name: os.environ[name] for name in VARIABLES if name in os.environ},
    }
