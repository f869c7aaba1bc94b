"""Pack a snapshot into an SLM2 artifact, tensor by tensor, with a ledger of what became what."""

from __future__ import annotations

from pathlib import Path

from trlm_lab.base.model_parts import EMBEDDING, HEAD, ModelTensor, model_tensors
from trlm_lab.base.records import Artifact, EffectiveConfig, Ledger
from trlm_lab.pack.artifact_file import ArtifactSink, map_file
from trlm_lab.pack.lineage import ledger_of
from trlm_lab.pack.profiles import PROFILES, PackProfile, encoder
from trlm_lab.pack.progress import Progress, silent
from trlm_lab.pack.source import Part, open_sources, widened
from trlm_lab.slm.numbers import Role
from trlm_lab.slm.plan import Placement, TensorSpec, plan_file
from trlm_lab.slm.read import open_slm


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
    sources = open_sources(snapshot_root, config)
    specs = [_spec(t, profile, config) for t in model_tensors(config)]
    plan = plan_file(specs, config.to_map(), tokenizer)
    with ArtifactSink(out, plan) as sink:
        for done, placement in enumerate(plan.placements):
            progress(f"pack {quant}", done, len(specs))
            if placement.target is None:
                _write(sink, sources.parts[placement.spec.name], placement)
            else:
                sink.alias()
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
    # The ledger says what the two files say, not what the loop above meant to write.
    slm = open_slm(map_file(out), where=out.name)
    return artifact, ledger_of(slm, sources, config, progress)


def _spec(tensor: ModelTensor, profile: PackProfile, config: EffectiveConfig) -> TensorSpec:
    alias = EMBEDDING if tensor.name == HEAD and config.tie_word_embeddings else None
    dtype = profile.dtype_of(tensor.shape)
    return TensorSpec(tensor.name, Role[tensor.role], dtype, tensor.shape, alias)


def _write(sink: ArtifactSink, part: Part, placement: Placement) -> None:
    spec, dtype = placement.spec, part.stored.info.dtype
    encode = encoder(spec.dtype)
    sink.begin(placement)
    for first, raw in part.blocks():
        sink.add(*encode(widened(raw, dtype), spec.name, first))
    sink.end()
