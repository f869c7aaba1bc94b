"""A runtime for the adapter's tests: constant tensors of the right shapes, or a named misdeed.

Called as `stub_runtime.py MISDEED REQUEST OUTDIR`. It writes safetensors by hand, so that it can
write broken ones.
"""

import json
import os
import signal
import struct
import sys
import time
from pathlib import Path

import numpy as np


def container(tensors, header_change=None):
    """The bytes of a safetensors file; `header_change` edits the header map first."""
    header, payload = {}, b""
    for name, array in tensors.items():
        kind = {"f": "F32", "i": "I64"}.get(array.dtype.kind)
        kind = {2: "F16", 4: "F32", 8: "F64"}[array.dtype.itemsize] if kind == "F32" else kind
        data = np.ascontiguousarray(array).tobytes()
        offsets = [len(payload), len(payload) + len(data)]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": offsets}
        payload += data
    if header_change:
        header_change(header)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + payload


def honest(config, case):
    """A few checkpoints whose values tell the token ids back."""
    ids = np.asarray(case["token_ids"], dtype=np.int64)
    tokens, hidden, vocab = len(ids), config["hidden_size"], config["vocab_size"]
    logits = np.zeros((tokens, vocab), dtype=np.float32)
    logits[np.arange(tokens), ids % vocab] = 1.0
    return {
        "logits": logits,
        "layers.1.output": np.full((tokens, hidden), 2.0, dtype=np.float32),
        "embedding": np.repeat(ids[:, None], hidden, axis=1).astype(np.float32),
    }


def change_tensors(misdeed, config, case, tensors):
    """Apply the misdeeds that touch values, names, types or shapes."""
    tokens = len(case["token_ids"])
    if misdeed == "half_precision":
        tensors["logits"] = tensors["logits"].astype(np.float16)
    elif misdeed == "wrong_shape":
        tensors["embedding"] = tensors["embedding"][:, :-1]
    elif misdeed == "transposed":
        tensors["embedding"] = tensors["embedding"].T.copy()
    elif misdeed == "unknown_name":
        tensors["layers.0.query"] = tensors["embedding"]
    elif misdeed == "layer_too_many":
        tensors["layers.7.output"] = tensors["embedding"]
    elif misdeed == "nothing_exposed":
        tensors.clear()
    elif misdeed == "nan":
        tensors["layers.1.output"][0, 1] = np.nan
    elif misdeed == "chunks":
        logits = tensors.pop("logits")
        tensors["logits.chunk1"] = logits[:, 5:].copy()
        tensors["logits.chunk0"] = logits[:, :5].copy()
    elif misdeed == "chunk_missing":
        tensors["logits.chunk0"] = tensors.pop("logits")[:, :5].copy()
    elif misdeed == "chunks_and_logits":
        tensors["logits.chunk0"] = tensors["logits"]
    elif misdeed == "other_ids":
        tensors["token_ids"] = np.full(tokens, 3, dtype=np.int64)
    elif misdeed == "extras":
        tensors["token_ids"] = np.asarray(case["token_ids"], dtype=np.int64)
        tensors["generated"] = np.asarray([4, 5], dtype=np.int64)
        tensors["step0.logits"] = tensors["logits"][:1].copy()
        tensors["step1.layers.0.attn_probs"] = np.ones((4, 1, tokens + 2), dtype=np.float32)


def change_header(misdeed):
    """The misdeeds of the tensor file's header."""

    def huge(header):
        header["embedding"] = {
            "dtype": "F32",
            "shape": [2**31 - 1, 2**31 - 1],
            "data_offsets": [0, 4 * (2**31 - 1) ** 2],
        }

    def overlap(header):
        header["embedding"]["data_offsets"] = header["logits"]["data_offsets"]

    return {"huge_declared": huge, "overlap": overlap}.get(misdeed)


def misbehave_before(misdeed, outdir):
    """Misdeeds that end or hang the process."""
    if misdeed == "crash":
        print("loading\nthe model file has no layer 3", file=sys.stderr)
        sys.exit(7)
    if misdeed == "signal":
        os.kill(os.getpid(), signal.SIGSEGV)
    if misdeed == "grandchild" and os.fork() == 0:
        time.sleep(600)
    if misdeed == "memory":
        print(len(bytearray(1 << 30)))
    if misdeed == "flood":
        (outdir / "flood").write_bytes(bytes(1 << 21))


def write_case(misdeed, config, case, outdir):
    """One case's tensor file."""
    path = outdir / f"{case['case_id']}.safetensors"
    if misdeed == "no_file":
        return
    if misdeed == "pipe":
        os.mkfifo(path)
        return
    if misdeed == "link":
        path.symlink_to("/dev/zero")
        return
    tensors = honest(config, case)
    change_tensors(misdeed, config, case, tensors)
    data = container(tensors, change_header(misdeed))
    if misdeed == "truncated":
        data = data[:-4]
    if misdeed == "no_container":
        data = b"not a tensor file"
    if misdeed == "huge_header":
        data = struct.pack("<Q", 2**40) + data[8:]
    path.write_bytes(data)


def report_text(misdeed, request):
    """The report, or what stands in its place."""
    report = {
        "schema": "trlm.process.report.v1",
        "engine": "stub",
        "version": "1",
        "profile": "f32",
        "x_calls": request["cases"],
    }
    if misdeed == "refuses_masks":
        masked = [c["case_id"] for c in request["cases"] if "attention_mask" in c]
        report["not_supported"] = masked
    if misdeed == "refuses_with_reason":
        first = request["cases"][0]["case_id"]
        report["not_supported"] = [{"case_id": first, "reason": "no masks"}]
    if misdeed == "refuses_stranger":
        report["not_supported"] = ["nobody"]
    if misdeed == "report_schema":
        report["schema"] = "trlm.process.report.v9"
    if misdeed == "report_number":
        report["version"] = 3
    if misdeed == "report_refusal_type":
        report["not_supported"] = [3]
    return '{"schema": ' if misdeed == "report_malformed" else json.dumps(report)


def main(misdeed, request_path, outdir):
    """Read the request, do what was asked, write the report last."""
    request = json.loads(Path(request_path).read_text())
    outdir = Path(outdir)
    misbehave_before(misdeed, outdir)
    config = json.loads((Path(request["model_dir"]) / "config.json").read_text())
    for case in request["cases"]:
        write_case(misdeed, config, case, outdir)
    if misdeed == "environment":
        print("\n".join(sorted(os.environ)), file=sys.stderr)
        sys.exit(1)
    if misdeed != "report_missing":
        (outdir / "report.json").write_text(report_text(misdeed, request))


main(*sys.argv[1:])
