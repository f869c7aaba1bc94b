"""The example runtime with decode steps: `decoding_runtime.py [LIE] REQUEST OUT`; no cache."""

import json
import sys
from pathlib import Path

import numpy as np
from lying_runtime import example


def last_row(name, values):
    """What one query shows of a prefill's array."""
    if name.endswith(("attn_scores", "attn_masked", "attn_probs")):
        return values[:, -1:].copy()
    return values[-1:].copy()


def decode(model, token_ids, steps):
    """Tensors of the prefill and of every step."""
    ids, generated = list(token_ids), []
    seen = model.forward(np.array(ids), np.arange(len(ids)))
    tensors = {"token_ids": np.array(ids, np.int64), **seen}
    for step in range(steps):
        generated.append(int(np.argmax(seen["logits"][-1])))
        ids.append(generated[-1])
        seen = model.forward(np.array(ids), np.arange(len(ids)))
        tensors |= {f"step{step}.{name}": last_row(name, v) for name, v in seen.items()}
    tensors["generated"] = np.array(generated, np.int64)
    return {k: v if v.dtype == np.int64 else v.astype(np.float32) for k, v in tensors.items()}


def tell(lie, tensors):
    """The tensors as the lie has them."""
    if lie == "--without-generated":
        del tensors["generated"]
    elif lie == "--one-short":
        tensors["generated"] = tensors["generated"][:-1]
    elif lie == "--one-more":
        tensors["step2.logits"] = tensors["step1.logits"]
    elif lie == "--wrong-keys":
        tensors["step0.layers.0.attn_probs"] = tensors["step1.layers.0.attn_probs"]
    return tensors


def main():
    lie, (request, out) = sys.argv[1:-2], sys.argv[-2:]
    asked, out = json.loads(Path(request).read_text()), Path(out)
    module = example()
    model = module.Llama(asked["model_dir"])
    for case in asked["cases"]:
        tensors = decode(model, case["token_ids"], asked["decode_steps"])
        path = out / f"{case['case_id']}.safetensors"
        module.save(path, tell(lie[0] if lie else "", tensors))
    report = {"schema": "trlm.process.report.v1", "engine": "decoding", "version": "1"}
    (out / "report.json").write_text(json.dumps({**report, "profile": "float32"}))


if __name__ == "__main__":
    main()
