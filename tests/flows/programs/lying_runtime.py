"""The example runtime with a lie about its inputs or its top k: `lying_runtime.py LIE REQUEST OUT`.

The forward pass is untouched, so that only what is told beside the checkpoints is wrong.
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np

RUN = Path(__file__).resolve().parents[3] / "examples" / "third_party_runtime" / "run.py"


def example():
    """The module of the example runtime."""
    spec = importlib.util.spec_from_file_location("pocket_llama", RUN)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def top_k(logits, k=64):
    """Descending value, then ascending id."""
    ids = np.argsort(-logits, axis=-1, kind="stable")[:, :k].astype(np.int64)
    return ids, np.take_along_axis(logits, ids, axis=-1)


def tell(lie, tensors):
    """The tensors as the lie has them."""
    tokens = len(tensors["token_ids"])
    ids, values = top_k(tensors["logits"])
    places = np.arange(tokens, dtype=np.int64)
    if lie == "ids":
        tensors["token_ids"] = tensors["token_ids"] + (places == 2)
    elif lie == "positions":
        tensors["position_ids"] = places + (places >= 3)
    elif lie == "mask":
        tensors["attention_mask"] = (places != tokens - 1).astype(np.int64)
    elif lie == "honest":
        tensors["position_ids"] = places
        tensors["attention_mask"] = np.ones(tokens, np.int64)
    if lie.endswith("swapped"):
        ids[1, [4, 5]], values[1, [4, 5]] = ids[1, [5, 4]], values[1, [5, 4]]
    elif lie.endswith("other_id"):
        ids[1, -1] = np.setdiff1d(np.arange(tensors["logits"].shape[1]), ids[1])[0]
    elif lie.endswith("value"):
        values[2, 3] = np.nextafter(values[2, 3], np.float32(np.inf))
    elif lie.endswith("far"):
        values[2, 0] += np.float32(1)
    if lie.startswith("bounded"):
        del tensors["logits"]
    if lie.startswith(("bounded", "beside", "honest")):
        tensors |= {"logits.topk_ids": ids, "logits.topk_values": values}
    return tensors


def main():
    lie = sys.argv.pop(1)
    module = example()
    save = module.save
    module.save = lambda path, tensors: save(path, tell(lie, dict(tensors)))
    module.main()


if __name__ == "__main__":
    main()
