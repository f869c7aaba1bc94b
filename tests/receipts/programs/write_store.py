"""Write the same chain of nodes and blobs again and again; a line says that one is stored.

Arguments: store, first number, how many. What is stored depends on the number alone.
"""

import sys
from pathlib import Path

from trlm_lab.receipts import ReceiptStore


def write(store: ReceiptStore, number: int) -> str:
    """A file, a tree over it, its provenance with a blob of some kilobytes."""
    facts = {"path": b"f%d" % number, "size": number, "sha256": "ab" * 32}
    file = store.add("file", facts, [])
    tree = store.add("source_tree", {"snapshot_id": "cd" * 32, "files": 1}, [file])
    blob = store.put_value({"number": number, "filler": b"x" * 20_000})
    return store.add("provenance", {"statement_blob": blob}, [tree])


if __name__ == "__main__":
    target, first, count = ReceiptStore(Path(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
    for place in range(first, first + count):
        print(place, write(target, place), flush=True)
