"""Pack a snapshot into an SLM2 artifact, tensor by tensor, with a ledger of what became what."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from trlm_lab.base.model_parts import EMBEDDING, HEAD, ModelTensor
from trlm_lab.base.records import Artifact, EffectiveConfig, Ledger, LedgerEntry, Transform
from trlm_lab.base.safetensors_header import TensorInfo
from trlm_lab.pack.artifact_file import ArtifactSink
from trlm_lab.pack.profiles import PROFILES, PackProfile, encoder, quant_profile_id
from trlm_lab.pack.progress import Progress, silent
from trlm_lab.pack.source import Weights, match_tensors, open_weights, widened
from trlm_lab.slm.numbers import DType, Role
from trlm_lab.slm.plan import Placement, TensorSpec, plan_file


def pack_snapshot(
    snapshot_root: Path,
    config: EffectiveConfig,
    quant: str,
    out: Path,
    tokenizer: bytes = b"",
    *,
    progress: Progress = silent,
) -> tuple[Artifact, Ledger]:
    """Write the artifact of a snapshot; the same inputs give the same bytes.

    `quant` is `f32` or `q8_r128` (matrices, the embedding included; norms stay f32). `tokenizer`
    becomes the tokenizer section as it is. A tied head becomes an alias of the embedding. Memory
    is bounded by slices of 16 MB and the scales of one tensor; `out` is replaced whole or not.

    Raises:
        UnknownNameError: no such profile.
        PackSourceError and its neighbours: source and configuration contradict each other.
        NonFiniteError, QuantNonFiniteError, QuantOverflowError: weights that cannot be stored.
    """
    profile = PROFILES[quant]
    weights = open_weights(snapshot_root)
    tensors = match_tensors(weights, config)
    specs = [_spec(t, profile, config) for t in tensors]
    plan = plan_file(specs, config.to_map(), tokenizer)
    entries: list[LedgerEntry] = []
    with ArtifactSink(out, plan) as sink:
        for done, placement in enumerate(plan.placements):
            progress(f"pack {quant}", done, len(specs))
            if placement.target is None:
                entries.append(_write(sink, weights, placement, profile))
            else:
                sink.alias()
                entries.append(_alias(weights, placement, entries[placement.target]))
        file_sha256, self_sha256, merkle_root = sink.commit()
    progress(f"pack {quant}", len(specs), len(specs))
    artifact = Artifact(
        path=out,
        format="SLM2",
        quant_profile=quant,
        file_sha256=file_sha256,
        self_sha256=self_sha256,
        merkle_root=merkle_root,
        size=plan.artifact_len,
        config=config,
    )
    return artifact, Ledger(tuple(entries), _exceptions(weights, config))


def _spec(tensor: ModelTensor, profile: PackProfile, config: EffectiveConfig) -> TensorSpec:
    alias = EMBEDDING if tensor.name == HEAD and config.tie_word_embeddings else None
    dtype = profile.dtype_of(tensor.shape)
    return TensorSpec(tensor.name, Role[tensor.role], dtype, tensor.shape, alias)


def _write(
    sink: ArtifactSink, weights: Weights, placement: Placement, profile: PackProfile
) -> LedgerEntry:
    spec, info = placement.spec, weights.tensors[placement.spec.name]
    encode = encoder(spec.dtype)
    source_digest = hashlib.sha256()
    sink.begin(placement)
    for first, raw in weights.slices(info):
        source_digest.update(raw.data.cast("B"))
        sink.add(*encode(widened(raw, info.dtype), spec.name, first))
    digest = sink.end()
    return _entry(
        weights,
        info,
        source_digest.hexdigest(),
        placement,
        _transforms(info, placement, profile),
        (placement.data_off, placement.end),
        digest,
    )


def _transforms(
    info: TensorInfo, placement: Placement, profile: PackProfile
) -> tuple[Transform, ...]:
    steps = []
    if info.dtype != "F32":
        steps.append(Transform("widen", {"from": info.dtype, "to": "F32"}))
    if placement.spec.dtype == DType.f32:
        return (*steps, Transform("copy"))
    parameters: dict[str, Any] = {
        "profile": profile.name,
        "profile_id": quant_profile_id(profile.name),
        "data_range": [placement.data_off, placement.data_off + placement.spec.planes.data_len],
        "scales_range": [placement.aux_off, placement.end],
    }
    return (*steps, Transform("quantize", parameters))


def _alias(weights: Weights, placement: Placement, target: LedgerEntry) -> LedgerEntry:
    """The head repeats the embedding's bytes; its own source tensor, where present, equals it."""
    name = placement.spec.name
    info = weights.tensors.get(name, weights.tensors[target.source_name])
    step = Transform("alias", {"target": target.destination_name})
    return _entry(
        weights,
        info,
        target.source_sha256,
        placement,
        (step,),
        target.destination_range,
        target.destination_sha256,
    )


def _entry(
    weights: Weights,
    info: TensorInfo,
    source_sha256: str,
    placement: Placement,
    transforms: tuple[Transform, ...],
    destination_range: tuple[int, int],
    destination_sha256: str,
) -> LedgerEntry:
    spec = placement.spec
    return LedgerEntry(
        source_name=info.name,
        source_file=weights.path.name,
        source_range=(info.begin, info.end),
        source_shape=info.shape,
        source_dtype=info.dtype,
        source_sha256=source_sha256,
        role=spec.role.name,
        transforms=transforms,
        destination_name=spec.name,
        destination_shape=spec.dims,
        destination_dtype=spec.dtype.name,
        destination_range=destination_range,
        destination_sha256=destination_sha256,
    )


def _exceptions(weights: Weights, config: EffectiveConfig) -> tuple[str, ...]:
    """Departures from a bijection between source and destination tensors."""
    if not config.tie_word_embeddings:
        return ()
    if HEAD in weights.tensors:
        return (f"{HEAD} is stored in the source with the bytes of {EMBEDDING}; kept as an alias",)
    return (f"{HEAD} is not in the source; the tied head is an alias of {EMBEDDING}",)
