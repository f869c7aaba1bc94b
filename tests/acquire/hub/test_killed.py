"""`kill -9` at any moment: nothing half-written shows, and the next run goes on."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests.acquire.hub.conftest import TREE, WEIGHTS, acquired, published
from tests.acquire.hub.server import HubServer, Repository

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
W = "model.safetensors"
PROGRAM = textwrap.dedent(
    """
    from tests.acquire.hub.conftest import acquired
    print(acquired().snapshot_id)
    """
)


@pytest.mark.parametrize("after", [1, 30_000, 120_000, 200_000])
def test_killed_while_bytes_arrive(tiny: Repository, hub: HubServer, after: int) -> None:
    hub.behaviour.drip[W] = 0.002
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", PROGRAM], env=environment, cwd=ROOT) as killed:
        until = time.monotonic() + 60
        while hub.sent[W] < after and time.monotonic() < until and killed.poll() is None:
            time.sleep(0.002)
        killed.send_signal(signal.SIGKILL)
    assert hub.sent[W] >= after
    assert published() == []
    hub.behaviour.drip.clear()
    hub.sent.clear()
    snapshot = acquired()
    assert hub.sent[W] < len(WEIGHTS) or after == 1
    assert snapshot.provenance["hub"]["commit"] == tiny.branches["main"]
    assert len(published()) == 1


def test_killed_before_each_change_of_the_disk(tiny: Repository, hub: HubServer) -> None:
    # Few files: each costs some changes, and each change two acquisitions.
    tiny.commit({name: TREE[name] for name in ("config.json", "LICENSE", "README.md", W)})
    command = [sys.executable, "-m", "tests.acquire.hub.killing"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    rows = json.loads(done.stdout)
    assert len({row["id"] for row in rows}) == 1
    assert {row["again"] for row in rows} == {0}
    assert {row["killed"] for row in rows[:-1]} == {-signal.SIGKILL}
    assert rows[-1]["killed"] == 0
    # The rename that publishes is a change like any other: before it nothing shows.
    shown = [row["left"] for row in rows]
    assert [] in shown
    assert all(left in ([], [rows[0]["id"]]) for left in shown)
    assert len(rows) > 30
