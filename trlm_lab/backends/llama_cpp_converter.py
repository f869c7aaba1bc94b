"""A model directory as an F32 GGUF by llama.cpp's own converter, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from trlm_lab.backends.llama_cpp import FIX
from trlm_lab.backends.llama_cpp_families import Fields, refusal
from trlm_lab.backends.llama_cpp_sdist import cached_converter
from trlm_lab.backends.process_command import ProcessCommand
from trlm_lab.base import strict_json
from trlm_lab.errors import ConversionError, PeerMissingError, UnsupportedModelError

SCRIPT = Path(__file__).with_name("llama_cpp_conversion_process.py")
#: The longest wait for a conversion.
SECONDS = 900.0
_LOG_LINES = 8


def require_converter() -> Path:
    """The converter's folder in the cache.

    Raises:
        PeerMissingError: it is not there.
    """
    found = cached_converter()
    if found is None:
        detail = "its converter is not in the cache"
        raise PeerMissingError(where="llama.cpp", peer="llama.cpp", detail=detail, command=FIX)
    return found


def convert(model_dir: Path, out: Path) -> Fields:
    """Write the F32 GGUF; returns every field of the configuration, as the converter read it.

    The converter sees configuration and weights alone.

    Raises:
        PeerMissingError: there is no converter in the cache.
        UnsupportedModelError: llama.cpp computes something else than this model.
        ConversionError: the converter failed, or did not end in time.
    """
    converter = require_converter()
    with tempfile.TemporaryDirectory(prefix="trlm-convert-") as scratch:
        stage, fields_file = Path(scratch) / "model", Path(scratch) / "fields.json"
        _stage(model_dir, stage)
        ending = _run([str(converter), str(stage), str(fields_file), str(out)], model_dir.name)
        # What it makes of a model that is refused, and whether it can, does not matter.
        fields = strict_json.load_object(fields_file) if fields_file.exists() else None
    said = "" if fields is None else refusal(fields)
    if said:
        raise UnsupportedModelError(where=str(model_dir / "config.json"), detail=said)
    if ending is not None:
        raise ending
    assert fields is not None
    return fields


def _run(arguments: list[str], where: str) -> ConversionError | None:
    """Run the script; what is to be said of a bad end, or None."""
    command = [sys.executable, "-P", str(SCRIPT), *arguments]
    environment = {**ProcessCommand(()).visible_environment(), "HF_HUB_OFFLINE": "1"}
    try:
        ended = subprocess.run(
            command, capture_output=True, env=environment, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return ConversionError(where=where, ending=f"no end after {SECONDS:g} s", log="")
    if ended.returncode == 0:
        return None
    lines = ended.stderr.decode("utf-8", "replace").splitlines()[-_LOG_LINES:]
    log = "".join(f"\n  {line}" for line in lines)
    return ConversionError(where=where, ending=f"exit status {ended.returncode}", log=log)


def _stage(model_dir: Path, stage: Path) -> None:
    """A directory with links to what is converted."""
    stage.mkdir()
    for part in (model_dir / "config.json", *model_dir.glob("model*.safetensors*")):
        (stage / part.name).symlink_to(part.resolve())
