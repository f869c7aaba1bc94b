"""What a reader looks at beyond the verdicts: weights, channels, attention, the logit lens.

Nothing here is judged or claimed: these rows show what kind of model the verdicts speak about.
The exact profiles are the engines' business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.backends.profiles import evaluation_profile
from trlm_lab.backends.safetensors_weights import model_dir_tensors
from trlm_lab.backends.source_weights import model_weights
from trlm_lab.base.model_parts import (
    FINAL_NORM,
    FINAL_NORM_BIAS,
    HEAD,
    has_bias,
    layer_tensors,
)
from trlm_lab.base.records import Case, EffectiveConfig
from trlm_lab.ops.layer_norm import layer_norm
from trlm_lab.ops.matmul import RowBlocks, matmul
from trlm_lab.ops.rms_norm import rms_norm, unit_offset
from trlm_lab.ops.softcap import softcap

if TYPE_CHECKING:
    from trlm_lab.flows.run import Run

F32 = NDArray[np.float32]

#: About this many elements of a tensor decide its quantile; maximum and RMS see all of them.
SAMPLE = 1 << 16
#: Latin, Greek, Cyrillic and signs: what the figures' font has.
_FONT_END = 0x2000


def weight_rows(run: Run, label: str) -> list[dict[str, Any]]:
    """Magnitudes of every matrix of every layer, as the oracle of this artifact runs them.

    `p999` is the 0.999 quantile of |w| over a strided sample; `peak` is the largest RMS of an
    input channel (a column) over the median one, which is what a per-row quantizer cannot follow.
    """
    config, root = run.described.config, run.model_dirs[label]
    weights = model_weights(config, model_dir_tensors(root), str(root))
    rows = []
    for layer in range(config.num_hidden_layers):
        for tensor in layer_tensors(config, layer):
            if len(tensor.shape) == 2:
                values = np.asarray(weights[tensor.name][0 : tensor.shape[0]], dtype=np.float32)
                rows.append({"layer": layer, "operator": tensor.role, **_figures(values)})
    return rows


def _figures(values: F32) -> dict[str, Any]:
    columns = np.sqrt(np.einsum("ij,ij->j", values, values) / np.float32(values.shape[0]))
    flat = values.reshape(-1)
    sample = np.abs(flat[:: max(1, flat.size // SAMPLE)])
    channel = int(columns.argmax())
    return {
        "rms": float(np.sqrt(np.mean(np.square(columns, dtype=np.float64)))),
        "p999": float(np.quantile(sample, 0.999)),
        "max": float(max(flat.max(), -flat.min())),
        "channel": channel,
        "peak": float(columns[channel] / max(float(np.median(columns)), 1e-30)),
    }


def channel_rows(run: Run, label: str) -> list[dict[str, Any]]:
    """Largest |residual| of each channel over all judged cases and tokens, summed up by layer."""
    view = run.trace("torch", label)
    layers = run.described.config.num_hidden_layers
    rows = []
    for layer in range(layers):
        name = f"layers.{layer}.output"
        cases = [view.read(case, name) for case in view.case_ids()]
        peak = np.max([np.abs(values).max(axis=0) for values in cases], axis=0)
        order = np.argsort(-peak, kind="stable")
        rows.append(
            {
                "layer": layer,
                "channel": int(order[0]),
                "largest": float(peak[order[0]]),
                "second": float(peak[order[1]]),
                "p99": float(np.quantile(peak, 0.99)),
                "median": float(np.median(peak)),
            }
        )
    return rows


def readable_case(run: Run, case_id: str = "", *, tokens: int = 12) -> Case:
    """The judged case of this id; without one the text (else the case) nearest to `tokens` long.

    Raises:
        KeyError: no judged case has this id.
    """
    cases = {c.case_id: c for c in run.judged_suite.cases}
    if case_id:
        return cases[case_id]
    return min(cases.values(), key=lambda c: (c.text is None, abs(len(c.token_ids) - tokens)))


def token_texts(run: Run, ids: list[int]) -> list[str]:
    """Each id as the source's tokenizer spells it; the number itself where there is none."""
    path = run.source.root / "tokenizer.json"
    if not path.exists():
        return [str(i) for i in ids]
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    return [_visible(tokenizer.decode([i], skip_special_tokens=False)) for i in ids]


def _visible(text: str) -> str:
    """White space as signs, and code points that plain fonts lack as numbers: no label is empty."""
    signs = {" ": "␣", "\n": "↵", "\t": "⇥"}
    plain = (c if c.isprintable() and ord(c) < _FONT_END else f"U+{ord(c):04X}" for c in text)
    return "".join(signs.get(c, p) for c, p in zip(text, plain, strict=True)) or "∅"


def lens_rows(run: Run, label: str, case: Case, *, last: int = 12) -> list[dict[str, Any]]:
    """The logit lens: final norm and head applied to the residual stream after every layer.

    Rows (layer, position, token_id, token, probability, final): the likeliest next token at the
    last `last` positions, and whether it is the one that the whole model chooses. An exploration
    by nostalgebraist, "interpreting GPT: the logit lens" (2020); nothing is judged by it.
    """
    view, config = run.trace("torch", label), run.described.config
    root = run.model_dirs[label]
    weights = model_weights(config, model_dir_tensors(root), str(root))
    rows: list[dict[str, Any]] = []
    start = max(0, len(case.token_ids) - last)
    for layer in range(config.num_hidden_layers):
        stream = view.read(case.case_id, f"layers.{layer}.output")[start:]
        ids, shares = _likeliest(config, weights, stream)
        rows += [
            {"layer": layer, "position": start + i, "token_id": int(t), "probability": float(p)}
            for i, (t, p) in enumerate(zip(ids, shares, strict=True))
        ]
    chosen = {r["position"]: r["token_id"] for r in rows}  # the last layer's come last
    texts = token_texts(run, [r["token_id"] for r in rows])
    for row, text in zip(rows, texts, strict=True):
        row |= {"token": text, "final": row["token_id"] == chosen[row["position"]]}
    return rows


def _likeliest(
    config: EffectiveConfig, weights: dict[str, RowBlocks], stream: F32
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    arithmetic = evaluation_profile("f64-reference").arithmetic()
    weight = np.asarray(weights[FINAL_NORM][:])
    if has_bias(config, "final_norm"):
        bias = weights[FINAL_NORM_BIAS][:]
        normed = layer_norm(stream, weight, bias, config.norm_eps, arithmetic)
    else:
        factor = unit_offset(weight, arithmetic) if config.norm_unit_offset else weight
        normed = rms_norm(stream, factor, config.norm_eps, arithmetic)
    logits = matmul(normed, weights[HEAD], arithmetic)
    if config.final_logit_softcapping is not None:
        logits = softcap(logits, config.final_logit_softcapping, arithmetic)
    share = 1.0 / np.exp(logits - logits.max(axis=-1, keepdims=True)).sum(axis=-1)
    return logits.argmax(axis=-1), share


def attention_panels(
    run: Run, label: str, case: Case, *, heads: int = 3
) -> dict[str, NDArray[np.float32]]:
    """Attention of the first heads in the first, a middle and the last layer, by `layer, head`."""
    view, config = run.trace("torch", label), run.described.config
    last = config.num_hidden_layers - 1
    panels = {}
    for layer in dict.fromkeys((0, last // 2, last)):
        name = f"layers.{layer}.attn_probs"
        probs = view.read(case.case_id, name)
        for head in range(min(heads, config.num_attention_heads)):
            panels[f"layer {layer}, head {head}"] = probs[head]
    return panels
