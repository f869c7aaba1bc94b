"""Processor time and memory of the dearest files that the bounded readers take.

`python tools/fuzz/costly.py [safetensors|gguf|tokenizer]…` judges every file of
`trlm_lab/testing/costly_inputs.py` in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from trlm_lab.testing.costly_inputs import COSTLY

#: Prints seconds, bytes by which the peak grew, and the codes of the findings.
JUDGE = """
import json, sys, time
from pathlib import Path
from trlm_lab.acquire import check_gguf, check_safetensors
from trlm_lab.describe import check_tokenizer
def peak():
    # The peak of getrusage outlives exec, and so is that of the parent.
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith("VmHWM")))
check = {"safetensors": check_safetensors, "gguf": check_gguf, "tokenizer": check_tokenizer}
path, judge = Path(sys.argv[2]), check[sys.argv[1]]
base, begun = peak(), time.process_time()
codes = sorted({row["code"] for row in judge(path)})
print(json.dumps([time.process_time() - begun, peak() - base, codes]))
"""


def measured(kind: str, data: bytes) -> tuple[float, int, list[str]]:
    """Processor seconds, growth of the peak in bytes, and codes for one file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "input"
        path.write_bytes(data)
        command = [sys.executable, "-c", JUDGE, kind, str(path)]
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    seconds, grown, codes = json.loads(answer)
    return seconds, grown, codes


def main(kinds: list[str]) -> None:
    """Print one line for each file."""
    for kind in kinds or list(COSTLY):
        for name, make in COSTLY[kind].items():
            data = make()
            seconds, grown, codes = measured(kind, data)
            verdict = ", ".join(codes) or "accepted"
            print(
                f"{kind:12} {name:28} {len(data) / 1e6:5.1f} MB {seconds:5.2f} s "
                f"{grown / 1e6:4.0f} MB  {verdict}",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
