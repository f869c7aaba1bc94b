"""A runtime that never ends and has a child of its own; called as `hang.py REQUEST OUTDIR`."""

import os
import sys
import time
from pathlib import Path

print("waiting for a device", file=sys.stderr, flush=True)
out, mine = Path(sys.argv[2]), "runtime"
if os.fork() == 0:
    mine = "grandchild"
(out / f"{mine}.new").write_text(str(os.getpid()))
(out / f"{mine}.new").rename(out / mine)
time.sleep(600)
