"""Small sources and artifacts to climb: padded rows, exact halves, ties, a residual."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.pack.conftest import Weights, tiny_config, tiny_weights
from tests.slm1.made import BTOK
from trlm_lab.base.model_parts import EMBEDDING, HEAD
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.flows.quant_ladder.subject import LadderSubject, open_ladder
from trlm_lab.pack import pack_snapshot
from trlm_lab.pack.codes import Codes, values_sha256, write_codes
from trlm_lab.pack.slm1 import pack_slm1
from trlm_lab.pack.source import open_sources, widened
from trlm_lab.quant import GROUPED
from trlm_lab.quant.coded import Coded, rounded

DOWN = "model.layers.0.mlp.down_proj.weight"
QUERIES = "model.layers.0.self_attn.q_proj.weight"
NORM = "model.norm.weight"


def ladder_config(**changes: Any) -> EffectiveConfig:
    """One layer; the down projection has 200 columns: a padded tail, and no whole lanes."""
    ids = {"bos_token_id": 256, "eos_token_id": (257,), "pad_token_id": 258, "unk_token_id": 259}
    small = {"vocab_size": 260, "hidden_size": 32, "num_hidden_layers": 1,
             "num_attention_heads": 2, "num_key_value_heads": 1}  # fmt: skip
    return tiny_config(**{**ids, **small, **changes})


def ladder_weights(config: EffectiveConfig) -> Weights:
    """Random weights; of the down projection four rows of halves under scales of 2^-8."""
    weights = tiny_weights(config)
    for row, q in enumerate((127, 31, 15, 7)):
        ties = np.resize([q, 0.5, 2.5, -0.5, -4.5, 1.0, -3.0], 200)
        weights[DOWN][row] = ties * np.float32(2.0**-8)
    return weights


def write_words(root: Path, tensors: dict[str, Any], dtype: str) -> None:
    """A safetensors file of float32 tensors cut to F16 or BF16 words."""
    header, data = {}, b""
    for name, values in sorted(tensors.items()):
        if dtype == "F16":
            raw = values.astype("<f2").tobytes()
        elif dtype == "BF16":
            raw = (values.view(np.uint32) >> 16).astype("<u2").tobytes()
        else:
            raw = values.astype("<f4").tobytes()
        place = [len(data), len(data) + len(raw)]
        header[name] = {"dtype": dtype, "shape": list(values.shape), "data_offsets": place}
        data += raw
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    text += b" " * (-len(text) % 8)
    (root / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)


def source(
    root: Path, config: EffectiveConfig, dtype: str = "F32", *, outliers: bool = False
) -> Path:
    """A snapshot directory; with `outliers` four bits lose much of the down projection."""
    root.mkdir(parents=True, exist_ok=True)
    weights = ladder_weights(config)
    if outliers:
        weights[DOWN][4:, ::50] *= np.float32(30)
    write_words(root, weights, dtype)
    return root


def packed(root: Path, config: EffectiveConfig, quant: str, out: Path) -> Path:
    """An artifact: of `slm1:NAME` an SLM1 file with blocks of 8."""
    if quant.startswith("slm1:"):
        pack_slm1(root, config, quant.removeprefix("slm1:"), out, BTOK, block=8)
    else:
        pack_snapshot(root, config, quant, out)
    return out


def subject(
    folder: Path, quant: str, tensor: str = DOWN, dtype: str = "F32", **changes: Any
) -> LadderSubject:
    """A tensor of a fresh artifact."""
    config = ladder_config(**changes)
    root = source(folder / "source", config, dtype)
    return open_ladder(root, config, packed(root, config, quant, folder / "m.slm"), tensor)


def made_up_codes(root: Path, config: EffectiveConfig, out: Path) -> Codes:
    """Codes that no rounding of these weights gives: scales one word larger."""
    form = GROUPED["q4_g64"]
    made = {}
    for name, part in open_sources(root, config).parts.items():
        if len(part.shape) != 2:
            continue
        rows = np.concatenate([widened(raw, "F32") for _, raw in part.blocks()])
        plain = rounded(form, rows)
        words = np.where(plain.words == 0, plain.words, plain.words + 1).astype(np.uint16)
        facts = {"weights_sha256": values_sha256(part), "gram_sha256": "00" * 32}
        made[name] = (Coded(plain.codes, words), facts)
    return write_codes(out, "q4_g64-gptq", {"made": "up"}, made)


__all__ = [
    "DOWN",
    "EMBEDDING",
    "HEAD",
    "NORM",
    "QUERIES",
    "ladder_config",
    "made_up_codes",
    "packed",
    "source",
    "subject",
]
