"""Converting a GGUF file takes memory for some chunks, whatever the file's size."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import gguf
import numpy as np
import pytest

from trlm_lab.acquire.safetensors_writer import CHUNK_ELEMENTS

#: Six chunks of float32 and their sources.
BOUND_BYTES = 6 * 4 * CHUNK_ELEMENTS
D, F, V = 1024, 64, 80_000

#: Measures the growth of its own peak, so that imports do not count. `getrusage` would do after a
#: plain fork, but its peak outlives exec and so is that of the parent; VmHWM belongs to the image.
SCRIPT = """
import json, sys
from pathlib import Path
from trlm_lab.acquire.gguf_snapshot import convert_gguf
import gguf
out = Path(sys.argv[2])
out.mkdir()
def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith("VmHWM")))
before = peak()
convert_gguf(Path(sys.argv[1]), [], out)
print(json.dumps(peak() - before))
"""


def write(path: Path) -> None:
    """A llama of one layer with a large embedding and a large query matrix, written in parts."""
    shapes = {
        "token_embd.weight": (V, D), "output_norm.weight": (D,),
        "blk.0.attn_norm.weight": (D,), "blk.0.attn_q.weight": (D, D),
        "blk.0.attn_k.weight": (D, D), "blk.0.attn_v.weight": (D, D),
        "blk.0.attn_output.weight": (D, D), "blk.0.ffn_norm.weight": (D,),
        "blk.0.ffn_gate.weight": (F, D), "blk.0.ffn_up.weight": (F, D),
        "blk.0.ffn_down.weight": (D, F),
    }  # fmt: skip
    writer = gguf.GGUFWriter(path, "llama")
    sizes = {"block_count": 1, "context_length": 8, "embedding_length": D, "vocab_size": V,
             "feed_forward_length": F, "attention.head_count": 8}  # fmt: skip
    for key, value in sizes.items():
        writer.add_uint32(f"llama.{key}", value)
    writer.add_float32("llama.attention.layer_norm_rms_epsilon", 1e-5)
    for name, shape in shapes.items():
        writer.add_tensor_info(name, shape, np.dtype(np.float16), 2 * math.prod(shape))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    with path.open("ab") as stream:
        stream.write(bytes(-stream.tell() % 32))
        for shape in shapes.values():
            stream.write(np.ones(math.prod(shape), np.float16).data)
            stream.write(bytes(-stream.tell() % 32))


@pytest.mark.slow
def test_the_peak_is_bounded_by_chunks(tmp_path: Path) -> None:
    source = tmp_path / "large.gguf"
    write(source)
    assert source.stat().st_size > BOUND_BYTES
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(source), str(tmp_path / "out")],
        capture_output=True, text=True, check=True, timeout=600,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    written = (tmp_path / "out" / "model.safetensors").stat().st_size
    growth = json.loads(done.stdout)
    assert written > 3 * BOUND_BYTES
    assert growth < BOUND_BYTES, f"{growth / 1e6:.0f} MB for {written / 1e6:.0f} MB written"
