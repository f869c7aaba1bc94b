"""Pack a snapshot into an SLM2 artifact, tensor by tensor, with a ledger of what became what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from trlm_lab.base.interfaces import RowPacker
from trlm_lab.base.model_parts import EMBEDDING, HEAD, ModelTensor, model_tensors
from trlm_lab.base.records import Artifact, EffectiveConfig, Ledger
from trlm_lab.errors import CalibrationNeededError
from trlm_lab.pack.artifact_file import ArtifactSink, map_file
from trlm_lab.pack.codes import Codes
from trlm_lab.pack.lineage import ledger_of
from trlm_lab.pack.profiles import CALIBRATED_NAMES, PROFILES, PackProfile, by_reference
from trlm_lab.pack.progress import Progress, silent
from trlm_lab.pack.residuals import measured, payload_again
from trlm_lab.pack.source import Sources, open_sources, widened
from trlm_lab.slm.numbers import DType, Role
from trlm_lab.slm.plan import Placement, TensorSpec, plan_file
from trlm_lab.slm.read import open_slm
from trlm_lab.slm.residuals import SUFFIX


def pack_snapshot(
    snapshot_root: Path,
    config: EffectiveConfig,
    quant: str,
    out: Path,
    tokenizer: bytes = b"",
    *,
    codes: Codes | None = None,
    packer: RowPacker = by_reference,
    progress: Progress = silent,
) -> tuple[Artifact, Ledger]:
    """Write the artifact of a snapshot; the same inputs give the same bytes.

    `quant` names a profile (matrices, the embedding included; norms stay f32). `tokenizer`
    becomes the tokenizer section as it is. Of a calibrated profile `codes` are its codes, of this
    very source. A tied head becomes an alias of the embedding. `packer` quantizes, with the same
    bytes whichever it is. Memory is bounded by slices of 16 MB and the scales of one tensor; `out`
    is replaced whole or not.

    Raises:
        UnknownNameError: no such profile.
        CalibrationNeededError: a calibrated profile without codes, or codes of another profile.
        CodesMismatchError: codes of other weights.
        PackSourceError and its neighbours: source and configuration contradict each other.
        NonFiniteError, QuantNonFiniteError, QuantOverflowError, QuantRangeError: weights that
            cannot be stored.
    """
    profile = replace(_profile(quant, codes), packer=packer)
    sources = open_sources(snapshot_root, config)
    if codes is not None:
        codes.check(sources)
    specs = [s for t in model_tensors(config) for s in _specs(t, profile, config, sources)]
    plan = plan_file(specs, config.to_map(), tokenizer)
    with ArtifactSink(out, plan) as sink:
        for done, placement in enumerate(plan.placements):
            progress(f"pack {quant}", done, len(specs))
            if placement.stored:
                _write(sink, sources, placement, profile)
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
    return artifact, ledger_of(slm, sources, config, progress, codes)


def _profile(quant: str, codes: Codes | None) -> PackProfile:
    """The profile by name, bound to its codes where it is calibrated."""
    said = None if codes is None else codes.record["profile"]
    if said != (quant if quant in CALIBRATED_NAMES else None):
        have = "no codes are given" if said is None else f"the codes are of {said}"
        raise CalibrationNeededError(where="--quant", detail=f"the profile is {quant}, {have}")
    return PROFILES[quant] if codes is None else codes.profile


def _specs(
    tensor: ModelTensor, profile: PackProfile, config: EffectiveConfig, sources: Sources
) -> Iterator[TensorSpec]:
    """The tensor, and behind it its residual where it gets one."""
    role = Role[tensor.role]
    if tensor.name == HEAD and config.tie_word_embeddings:
        dtype = profile.dtype_of(Role.embedding, tensor.shape)
        yield TensorSpec(tensor.name, role, dtype, tensor.shape, EMBEDDING)
        return
    dtype = profile.dtype_of(role, tensor.shape)
    yield TensorSpec(tensor.name, role, dtype, tensor.shape, scales=profile.scales_of(dtype))
    if profile.residual and dtype != DType.f32:
        found = measured(sources.parts[tensor.name], profile, dtype, tensor.name).sparse
        if found is not None:
            values = DType[profile.residual.value_dtype]
            name = tensor.name + SUFFIX
            yield TensorSpec(name, role, values, tensor.shape, tensor.name, nnz=found.nnz)


def _write(
    sink: ArtifactSink, sources: Sources, placement: Placement, profile: PackProfile
) -> None:
    spec = placement.spec
    sink.begin(placement)
    if spec.nnz is None:
        part, encode = sources.parts[spec.name], profile.encoder(spec.dtype)
        for first, raw in part.blocks():
            sink.add(*encode(widened(raw, part.stored.info.dtype), spec.name, first))
    else:
        assert spec.alias_of is not None
        sink.add(*payload_again(sources, profile, spec.alias_of, spec.role, spec.dims))
    sink.end()
