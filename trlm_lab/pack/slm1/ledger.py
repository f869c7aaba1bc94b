"""The ledger of an SLM1 file beside its source, derived from both, and its proof."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from trlm_lab.base.model_parts import HEAD
from trlm_lab.base.records import EffectiveConfig, Ledger, LedgerEntry, Omission, Probes, Transform
from trlm_lab.base.safetensors_header import StoredTensor
from trlm_lab.pack.ledger_rules import LedgerFinding, rule_findings
from trlm_lab.pack.probes import (
    destination_product,
    probe_places,
    source_element,
    source_product,
)
from trlm_lab.pack.progress import Progress, silent
from trlm_lab.pack.shards import stored_tensors
from trlm_lab.pack.slm1.holds import frequencies_that_differ
from trlm_lab.pack.slm1.profiles import slm1_profile_id
from trlm_lab.pack.slm1.rows import half_split, model_rows, rotary_step, slm1_rows
from trlm_lab.pack.source import Part, Sources, byte_strides
from trlm_lab.slm1.codecs import DType
from trlm_lab.slm1.read import Slm1File, Slm1Tensor

_LOST = "each weight is rounded to the nearest multiple of its row's or block's scale"
_HEAD_COPY = "its bytes are those of the embedding, for which the tied flag stands"
_ROLES = {
    "wq": "q_proj", "wk": "k_proj", "wv": "v_proj", "wo": "o_proj", "w1": "gate_proj",
    "w2": "down_proj", "w3": "up_proj", "attn_norm": "attn_norm", "ffn_norm": "mlp_norm",
    "tok_embeddings": "embedding", "norm": "final_norm", "output": "lm_head",
}  # fmt: skip


def slm1_ledger(
    slm1: Slm1File, sources: Sources, config: EffectiveConfig, progress: Progress = silent
) -> Ledger:
    """What became of every tensor of a source, by the bytes of both files."""
    entries = []
    for done, tensor in enumerate(slm1.tensors):
        progress("ledger", done, len(slm1.tensors))
        part = sources.parts[tensor.placed.named.source_name]
        entries.append(_entry(slm1, tensor, part))
    progress("ledger", len(slm1.tensors), len(slm1.tensors))
    omissions = [_omission(stored, source.omitted) for source, stored in sources.omitted]
    if sources.head is not None:
        omissions.append(_omission(sources.head, _HEAD_COPY))
    return Ledger(tuple(entries), tuple(_exceptions(slm1, config)), tuple(omissions))


def _exceptions(slm1: Slm1File, config: EffectiveConfig) -> Iterator[str]:
    """What the file does not say, or says otherwise, than the source."""
    if slm1.header.tied:
        yield f"{HEAD} is not stored; the tied flag stands for it"
    if config.pad_token_id not in (None, slm1.special_ids[2]):
        yield f"the model pads with its stop token; PAD of the tokenizer is {slm1.special_ids[2]}"
    if differing := frequencies_that_differ(config):
        count = len(config.rope_inv_freq)
        yield f"{differing} of {count} rotary frequencies differ from the source's in the last bits"


def _entry(slm1: Slm1File, tensor: Slm1Tensor, part: Part) -> LedgerEntry:
    placed, info = tensor.placed, part.stored.info
    digest = hashlib.sha256(tensor.data)
    digest.update(tensor.scales)
    return LedgerEntry(
        source_name=info.name,
        source_file=part.stored.path.name,
        source_range=(info.begin, info.end),
        source_shape=info.shape,
        source_strides=byte_strides(info),
        source_dtype=info.dtype,
        source_sha256=_range_sha256(part.stored),
        role=_ROLES[placed.named.name.removesuffix(".weight").rpartition(".")[2]],
        transforms=_transforms(slm1, tensor, part),
        destination_name=placed.named.name,
        destination_shape=placed.named.dims,
        destination_layout="dense",
        destination_dtype=placed.codec.dtype.name,
        destination_range=(placed.data[0], max(placed.data[1], placed.scales[1])),
        destination_sha256=digest.hexdigest(),
        probes=_probes(slm1, tensor, part),
    )


def _transforms(slm1: Slm1File, tensor: Slm1Tensor, part: Part) -> tuple[Transform, ...]:
    placed, steps = tensor.placed, list(part.steps)
    if part.stored.info.dtype != "F32":
        steps.append(Transform("widen", {"from": part.stored.info.dtype, "to": "F32"}))
    if placed.named.rotary_heads:
        steps.append(rotary_step(placed.named, slm1.header.head_dim))
    name = placed.codec.dtype.name
    if placed.codec.dtype == DType.f32:
        return (*steps, Transform("copy"))
    parameters = {
        "profile": name,
        "profile_id": slm1_profile_id(name),
        "block": placed.entry.block_size,
        "data_range": list(placed.data),
        "scales_range": list(placed.scales),
        "lost": _LOST,
    }
    return (*steps, Transform("quantize", parameters))


def _probes(slm1: Slm1File, tensor: Slm1Tensor, part: Part) -> Probes:
    """Products and elements in the source's order of rows: the permutation is undone first."""
    placed, width = tensor.placed, slm1.header.head_dim
    name = placed.named.name
    elements = []
    for flat in probe_places(name, placed.rows * placed.cols):
        row, col = divmod(flat, placed.cols)
        low = row - row % width if placed.named.rotary_heads else row
        high = low + width if placed.named.rotary_heads else row + 1
        rows = tensor.decoded(low, high)
        rows = half_split(rows, width) if placed.named.rotary_heads else rows
        stored = int(np.ascontiguousarray(rows[row - low]).view(np.uint32)[col])
        elements.append((flat, source_element(part, flat), stored))
    products = source_product(part, name), destination_product(model_rows(tensor, width), name)
    return Probes(*products, tuple(elements))


def _omission(stored: StoredTensor, reason: str) -> Omission:
    info = stored.info
    return Omission(
        source_name=info.name,
        source_file=stored.path.name,
        source_range=(info.begin, info.end),
        source_shape=info.shape,
        source_dtype=info.dtype,
        source_sha256=_range_sha256(stored),
        reason=reason,
    )


def _range_sha256(stored: StoredTensor) -> str:
    digest, left = hashlib.sha256(), stored.info.end - stored.info.begin
    with stored.path.open("rb") as stream:
        stream.seek(stored.info.begin)
        while left > 0 and (chunk := stream.read(min(left, 1 << 20))):
            digest.update(chunk)
            left -= len(chunk)
    return digest.hexdigest()


def verify_slm1_ledger(
    slm1: Slm1File, sources: Sources, config: EffectiveConfig, progress: Progress = silent
) -> list[LedgerFinding]:
    """Its rules, and every tensor stored anew from the source, against the file's bytes."""
    ledger = slm1_ledger(slm1, sources, config, progress)
    names = [tensor.placed.named.name for tensor in slm1.tensors]
    found = rule_findings(ledger, stored_tensors(sources.root).keys(), names, rotary=True)
    for done, tensor in enumerate(slm1.tensors):
        progress("store anew", done, len(slm1.tensors))
        found += _stored_anew(slm1, tensor, sources)
    progress("store anew", len(slm1.tensors), len(slm1.tensors))
    return found


def _stored_anew(slm1: Slm1File, tensor: Slm1Tensor, sources: Sources) -> Iterator[LedgerFinding]:
    placed = tensor.placed
    part = sources.parts[placed.named.source_name]
    data, scales = hashlib.sha256(), []
    for rows in slm1_rows(part, placed.named, slm1.header.head_dim):
        block, row_scales = placed.codec.encode(rows, placed.entry.block_size)
        data.update(block)
        scales.append(row_scales)
    data.update(b"".join(scales))
    wanted = hashlib.sha256(tensor.data)
    wanted.update(tensor.scales)
    if data.digest() != wanted.digest():
        detail = f"stored anew it has the hash {data.hexdigest()[:16]}…"
        yield LedgerFinding("LEDGER_QUANTIZE", placed.named.name, detail)
