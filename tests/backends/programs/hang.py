"""A runtime that never ends and has a child of its own; called as `hang.py REQUEST OUTDIR`."""

import os
import sys
import time
from pathlib import Path

print("waiting for a device", file=sys.stderr, flush=True)
if os.fork() == 0:
    (Path(sys.argv[2]) / "grandchild").write_text(str(os.getpid()))
time.sleep(600)
