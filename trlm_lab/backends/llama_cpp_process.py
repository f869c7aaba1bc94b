"""llama.cpp as a runtime that speaks `trlm-process-v1`; run as a script of its own.

Called as `llama_cpp_process.py --threads N REQUEST OUTDIR`. It exposes logits only. Cases with a
padding mask or positions of their own, and models that llama.cpp computes otherwise, are listed as
not supported.
"""

from __future__ import annotations

import argparse
import json
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.backends.llama_cpp_eval import LlamaCppModel
from trlm_lab.backends.llama_cpp_export import export_of
from trlm_lab.base.blobs import file_sha256
from trlm_lab.errors import PeerMissingError, UnsupportedModelError


def main(arguments: list[str] | None = None) -> None:
    """Serve one request."""
    parser = argparse.ArgumentParser(description="llama.cpp behind trlm-process-v1")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("request", type=Path)
    parser.add_argument("outdir", type=Path)
    given = parser.parse_args(arguments)
    request = json.loads(given.request.read_text(encoding="utf-8"))
    refused = serve(request, given.outdir, given.threads)
    report = {**identity(given.threads), "not_supported": refused}
    (given.outdir / "report.json").write_text(json.dumps(report, indent=1), encoding="utf-8")


def identity(threads: int) -> dict[str, str]:
    """The report without the refusals; the version binds the loaded library."""
    version = metadata.version("llama-cpp-python")
    return {
        "schema": "trlm.process.report.v1",
        "engine": "llama.cpp",
        "version": f"llama-cpp-python {version}, libllama sha256 {library_sha256()}",
        "profile": f"f32 weights and cache, flash attention off, {threads} threads",
    }


def library_sha256() -> str:
    """SHA-256 of the shared library that computes."""
    import llama_cpp

    return file_sha256(Path(str(llama_cpp.__file__)).parent / "lib" / "libllama.so")


def serve(request: dict[str, Any], outdir: Path, threads: int) -> dict[str, str]:
    """Write the logits of every case that can be run; the others with the reason."""
    if request["decode_steps"]:
        return {case["case_id"]: "decode steps" for case in request["cases"]}
    try:
        export = export_of(Path(request["model_dir"]))
    except (UnsupportedModelError, PeerMissingError) as error:
        said = error.detail if isinstance(error, UnsupportedModelError) else error.text
        return {case["case_id"]: said for case in request["cases"]}
    refused: dict[str, str] = {}
    for case in request["cases"]:
        reason = refusal(case) or export.refused_length(len(case["token_ids"]))
        if reason:
            refused[case["case_id"]] = reason
    cases = [case for case in request["cases"] if case["case_id"] not in refused]
    if not cases:
        return refused
    tokens = max(len(case["token_ids"]) for case in cases)
    with LlamaCppModel(export.gguf, tokens, threads) as model:
        for case in cases:
            logits = model.logits(case["token_ids"])
            write_logits(outdir / f"{case['case_id']}.safetensors", logits)
    return refused


def refusal(case: dict[str, Any]) -> str | None:
    """Why a case cannot be run, or None."""
    plain = list(range(len(case["token_ids"])))
    if not all(case.get("attention_mask", [1])):
        return "a padding mask"
    if case.get("position_ids", plain) != plain:
        return "positions other than 0, 1, 2, ..."
    unknown = sorted(set(case) - {"case_id", "token_ids", "attention_mask", "position_ids"})
    return f"the field {unknown[0]}" if unknown else None


def write_logits(path: Path, logits: NDArray[np.float32]) -> None:
    """A safetensors file of one tensor: header length, JSON header, bytes."""
    row = {"dtype": "F32", "shape": list(logits.shape), "data_offsets": [0, logits.nbytes]}
    header = json.dumps({"logits": row}).encode()
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        # Of a large vocabulary a case has hundreds of megabytes: no copy is made.
        file.write(np.ascontiguousarray(logits, dtype="<f4").data)


if __name__ == "__main__":
    main()
