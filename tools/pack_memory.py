"""Peak private memory of packing a model of any size: `pack_memory.py [--vocab V] [--hidden D]`.

The source is a sparse file of zeros but for some rows, so that it takes no room on the disk; the
artifact is deleted. What is sampled is RssAnon: memory that is the process's own, not that of the
mapped files. Prints one JSON document. Without options the embedding is that of Gemma-3-270M in
float32, 671 MB; `--vocab 1048576 --hidden 2048` is a model of 8.6 GB.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from trlm_lab.backends.native_rows import native_packer
from trlm_lab.base.model_parts import HEAD, model_tensors
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.pack import pack_snapshot
from trlm_lab.pack.profiles import by_reference
from trlm_lab.testing.sound_containers import plain_config

EVERY = 0.02
NONZERO_ROWS = 64


def private_bytes() -> int:
    """RssAnon of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise OSError("no RssAnon: this needs Linux")


class Peak(threading.Thread):
    """Samples until it is stopped."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most, self.samples, self.stopped = 0, 0, threading.Event()

    def run(self) -> None:
        """Sample."""
        while not self.stopped.wait(EVERY):
            self.most = max(self.most, private_bytes())
            self.samples += 1


def write_source(root: Path, config: EffectiveConfig) -> int:
    """The model's safetensors, zeros but for the first rows of each matrix; bytes of tensors."""
    header, at = {}, 0
    tensors = [t for t in model_tensors(config) if t.name != HEAD]
    for tensor in tensors:
        size = 4 * int(np.prod(tensor.shape, dtype=np.int64))
        row = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + size]}
        header[tensor.name], at = row, at + size
    raw = json.dumps(header, separators=(",", ":")).encode()
    raw += b" " * (-len(raw) % 8)
    rng = np.random.default_rng(1)
    with (root / "model.safetensors").open("wb") as stream:
        stream.write(len(raw).to_bytes(8, "little") + raw)
        for tensor in tensors:
            low, _ = header[tensor.name]["data_offsets"]
            stream.seek(8 + len(raw) + low)
            shape = (min(tensor.shape[0], NONZERO_ROWS), *tensor.shape[1:])
            stream.write(rng.standard_normal(shape, np.float32).tobytes())
        stream.truncate(8 + len(raw) + at)
    return at


def main() -> None:
    """Write, pack, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vocab", type=int, default=262144)
    parser.add_argument("--hidden", type=int, default=640)
    parser.add_argument("--quant", default="q4_g64")
    parser.add_argument("--reference", action="store_true", help="the packer in Python")
    parser.add_argument("--scratch", type=Path, default=None)
    given = parser.parse_args()
    config = plain_config(vocab_size=given.vocab, hidden_size=given.hidden)
    packer = by_reference if given.reference else native_packer() or by_reference
    with tempfile.TemporaryDirectory(dir=given.scratch) as folder:
        root = Path(folder)
        size = write_source(root, config)
        before, peak, started = private_bytes(), Peak(), time.perf_counter()
        peak.start()
        artifact, _ = pack_snapshot(root, config, given.quant, root / "m.slm", packer=packer)
        seconds = time.perf_counter() - started
        peak.stopped.set()
        peak.join()
    figures = {
        "source_mb": round(size / 1e6), "artifact_mb": round(artifact.size / 1e6),
        "quant": given.quant, "packer": "python" if packer is by_reference else "native",
        "before_mb": round(before / 1e6), "peak_private_mb": round(peak.most / 1e6),
        "samples": peak.samples, "seconds": round(seconds, 1),
    }  # fmt: skip
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
