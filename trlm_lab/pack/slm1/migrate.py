"""SLM1 to SLM2: weights as they are read, the whole configuration, TOK2 for BTOK or BPE1.

With the file's own rotary order every weight, frequency and order of additions is that of
the SLM1 file, so a forward pass gives the same bits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from trlm_lab.base.model_parts import EMBEDDING, HEAD, ModelTensor, model_tensors
from trlm_lab.base.records import (
    Artifact,
    EffectiveConfig,
    Ledger,
    LedgerEntry,
    Omission,
    Probes,
    Transform,
)
from trlm_lab.errors import UnknownNameError
from trlm_lab.pack.artifact_file import ArtifactSink, map_file
from trlm_lab.pack.probes import destination_product, probe_places
from trlm_lab.pack.profiles import PROFILES, PackProfile, quant_profile_id
from trlm_lab.pack.progress import Progress, silent
from trlm_lab.pack.slm1.files import open_checked
from trlm_lab.pack.slm1.profiles import slm1_profile_id
from trlm_lab.pack.slm1.rows import F32, model_rows, rotary_step
from trlm_lab.pack.weights import row_slices
from trlm_lab.slm.numbers import DType, Role
from trlm_lab.slm.plan import Placement, TensorSpec, plan_file
from trlm_lab.slm.planes import PLANE_RULES
from trlm_lab.slm.read import SlmFile, SlmTensor, open_slm
from trlm_lab.slm1.config import effective_config
from trlm_lab.slm1.names import OUTPUT
from trlm_lab.slm1.read import Slm1File, Slm1Tensor
from trlm_lab.text.slm1 import Btok, bpe1_tokenizer, btok_tokenizer, read_section
from trlm_lab.text.tok2 import write_tok2

ROPE_ORDERS = ("interleaved", "half_split")
_LOST = "each weight is rounded anew, to what the profile stores"
_COPY = "its bytes are those of the embedding, of which the tied head is an alias"
_UNREAD = "no product reads it, and a strict reader refuses any other code there"


@dataclass(frozen=True)
class Migrated:
    """The SLM2 file and what became of each tensor of the SLM1 file."""

    artifact: Artifact
    ledger: Ledger


def migrate(
    path: Path,
    out: Path,
    *,
    quant: str = "f32",
    rope_order: str = "interleaved",
    unchecked: bool = False,
    progress: Progress = silent,
) -> Migrated:
    """Write the SLM2 file of an SLM1 file; the same inputs give the same bytes.

    As `f32` nothing of what the SLM1 file says is lost; another profile rounds the weights that it
    decodes anew. `rope_order` keeps the rows of queries and keys (`interleaved`) or gives them the
    order of Hugging Face (`half_split`).

    Raises:
        UnknownNameError: no such order, or no profile without residuals of this name.
        Slm1Error: the file is malformed or damaged; with `unchecked` a checksum of an unknown
            profile is taken.
    """
    if rope_order not in ROPE_ORDERS:
        raise UnknownNameError(kind="rotary order", name=rope_order, known=", ".join(ROPE_ORDERS))
    profile = _profile(quant)
    slm1 = open_checked(path, unchecked=unchecked)
    config = replace(effective_config(slm1), rope_order=rope_order)
    specs = [_spec(tensor, profile, config) for tensor in model_tensors(config)]
    plan = plan_file(specs, config.to_map(), tok2_of(slm1, config))
    with ArtifactSink(out, plan) as sink:
        for done, placement in enumerate(plan.placements):
            progress(f"migrate {quant}", done, len(specs))
            if placement.target is None:
                _write(sink, slm1, config, placement, profile)
            else:
                sink.alias()
        file_sha256, self_sha256, merkle_root = sink.commit()
    progress(f"migrate {quant}", len(specs), len(specs))
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
    slm = open_slm(map_file(out), where=out.name)
    return Migrated(artifact, migration_ledger(slm1, slm, quant))


def _profile(quant: str) -> PackProfile:
    """A profile by name; residuals are measured against a source's own weights, so not here."""
    profile = PROFILES[quant]
    if profile.residual is not None:
        known = ", ".join(name for name in PROFILES if PROFILES[name].residual is None)
        raise UnknownNameError(kind="profile without residuals", name=quant, known=known)
    return profile


def _spec(tensor: ModelTensor, profile: PackProfile, config: EffectiveConfig) -> TensorSpec:
    role = Role[tensor.role]
    if tensor.name == HEAD and config.tie_word_embeddings:
        dtype = profile.dtype_of(Role.embedding, tensor.shape)
        return TensorSpec(tensor.name, role, dtype, tensor.shape, alias_of=EMBEDDING)
    dtype = profile.dtype_of(role, tensor.shape)
    return TensorSpec(tensor.name, role, dtype, tensor.shape, scales=profile.scales_of(dtype))


def tok2_of(slm1: Slm1File, config: EffectiveConfig) -> bytes:
    """The compiled tokenizer, with the special ids of the configuration."""
    source = read_section(slm1.tokenizer)
    made = btok_tokenizer(source) if isinstance(source, Btok) else bpe1_tokenizer(source)
    bos, eos, pad, unk = slm1.special_ids
    return write_tok2(made, roles=[("bos", bos), ("eos", eos), ("pad", pad), ("unk", unk)])


def by_source_name(slm1: Slm1File) -> dict[str, Slm1Tensor]:
    rows = {tensor.placed.named.source_name: tensor for tensor in slm1.tensors}
    return {HEAD: slm1.tensor(OUTPUT), **rows}


def stored_rows(tensor: Slm1Tensor, config: EffectiveConfig) -> Iterator[F32]:
    """The float32 rows of a tensor in the order that the configuration has."""
    as_stored = config.rope_order == "interleaved"
    return model_rows(tensor, config.head_dim, as_stored=as_stored)


def _write(
    sink: ArtifactSink,
    slm1: Slm1File,
    config: EffectiveConfig,
    placement: Placement,
    profile: PackProfile,
) -> None:
    spec, first = placement.spec, 0
    encode, tensor = profile.encoder(spec.dtype), by_source_name(slm1)[spec.name]
    sink.begin(placement)
    for rows in stored_rows(tensor, config):
        sink.add(*encode(np.ascontiguousarray(rows), spec.name, first))
        first += len(rows)
    sink.end()


def migration_ledger(slm1: Slm1File, slm: SlmFile, quant: str) -> Ledger:
    """What became of each tensor of an SLM1 file, by the bytes of both files."""
    config, sources = EffectiveConfig.from_map(slm.config), by_source_name(slm1)
    entries = [
        _entry(slm1, slm, config, tensor, sources[tensor.alias_of or tensor.name], quant)
        for tensor in slm.tensors
    ]
    return Ledger(tuple(entries), tuple(_exceptions(slm1, config)), tuple(_omissions(slm1)))


def _omissions(slm1: Slm1File) -> Iterator[Omission]:
    """The copy of the embedding that a tied file may hold."""
    for tensor in slm1.tensors:
        placed = tensor.placed
        if slm1.header.tied and placed.named.name == OUTPUT:
            yield Omission(
                source_name=OUTPUT,
                source_file=slm1.where,
                source_range=_source_range(tensor),
                source_shape=placed.named.dims,
                source_dtype=placed.codec.dtype.name,
                source_sha256=_sha256(tensor.data, tensor.scales),
                reason=_COPY,
            )


def _source_range(tensor: Slm1Tensor) -> tuple[int, int]:
    placed = tensor.placed
    return placed.data[0], max(placed.data[1], placed.scales[1])


def _exceptions(slm1: Slm1File, config: EffectiveConfig) -> Iterator[str]:
    if slm1.header.tied:
        stored = any(tensor.placed.named.name == OUTPUT for tensor in slm1.tensors)
        copy = "is stored with the embedding's bytes" if stored else "is not stored"
        yield f"{OUTPUT} {copy}; the tied head is an alias of {EMBEDDING}"
    yield f"rope_order is {config.rope_order}"
    yield "frequencies and scale of the scores are derived from base and head width"


def _entry(
    slm1: Slm1File,
    slm: SlmFile,
    config: EffectiveConfig,
    tensor: SlmTensor,
    source: Slm1Tensor,
    quant: str,
) -> LedgerEntry:
    placed, place = source.placed, (slm.tensor(tensor.alias_of) if tensor.alias_of else tensor)
    begin, data_end = place.descriptor.data_off, place.descriptor.data_off + len(tensor.data)
    end = max(data_end, place.descriptor.aux_off + place.descriptor.aux_len)
    steps = _steps(config, tensor, source, quant)
    return LedgerEntry(
        source_name=placed.named.name,
        source_file=slm1.where,
        source_range=_source_range(source),
        source_shape=placed.named.dims,
        source_strides=(placed.codec.row_bytes(placed.cols), 1)[-len(placed.named.dims) :],
        source_dtype=placed.codec.dtype.name,
        source_sha256=_sha256(source.data, source.scales),
        role=tensor.role.name,
        transforms=steps,
        destination_name=tensor.name,
        destination_shape=tensor.dims,
        destination_layout="alias" if tensor.alias_of else "dense",
        destination_dtype=tensor.dtype.name,
        destination_range=(begin, end),
        destination_sha256=_sha256(tensor.data, tensor.scales),
        probes=_probes(config, tensor, source),
    )


def _sha256(data: memoryview, scales: memoryview) -> str:
    digest = hashlib.sha256(data)
    digest.update(scales)
    return digest.hexdigest()


def _steps(
    config: EffectiveConfig, tensor: SlmTensor, source: Slm1Tensor, quant: str
) -> tuple[Transform, ...]:
    if tensor.alias_of:
        return (Transform("alias", {"target": tensor.alias_of}),)
    placed, steps = source.placed, []
    name = placed.codec.dtype.name
    if name != "f32":
        parameters = {"profile": name, "profile_id": slm1_profile_id(name)}
        steps.append(Transform("dequantize", {**parameters, "block": placed.entry.block_size}))
    if placed.named.rotary_heads and config.rope_order == "half_split":
        steps.append(rotary_step(placed.named, config.head_dim, back=True))
    if tensor.dtype == DType.f32:
        return (*steps, Transform("copy"))
    place = tensor.descriptor
    stored = {
        "profile": quant,
        "profile_id": quant_profile_id(quant),
        "data_range": [place.data_off, place.data_off + place.data_len],
        "scales_range": [place.aux_off, place.aux_off + place.aux_len],
        "lost": _LOST,
    }
    steps.append(Transform("quantize", stored))
    unit = PLANE_RULES[tensor.dtype].unit
    physical = -(-tensor.cols // unit) * unit
    if physical > tensor.cols:
        shapes = {"logical": [tensor.rows, tensor.cols], "physical": [tensor.rows, physical]}
        steps.append(Transform("pad", {**shapes, "fill": "code 0", "unread": _UNREAD}))
    return tuple(steps)


def _probes(config: EffectiveConfig, tensor: SlmTensor, source: Slm1Tensor) -> Probes:
    """Products and elements in the destination's order of rows."""
    name = tensor.alias_of or tensor.name
    wanted = probe_places(name, tensor.rows * tensor.cols)
    before = _elements(stored_rows(source, config), wanted, tensor.cols)
    behind = _elements(row_slices(tensor), wanted, tensor.cols)
    elements = tuple(zip(wanted, before, behind, strict=True))
    products = (
        destination_product(stored_rows(source, config), name),
        destination_product(row_slices(tensor), name),
    )
    return Probes(*products, elements)


def _elements(blocks: Iterator[F32], wanted: tuple[int, ...], cols: int) -> list[int]:
    """The float32 bits of some elements, by ascending flat index."""
    found, first = [], 0
    left = list(wanted)
    for rows in blocks:
        end = first + rows.size
        while left and left[0] < end:
            row, col = divmod(left.pop(0) - first, cols)
            found.append(int(np.ascontiguousarray(rows[row]).view(np.uint32)[col]))
        first = end
    return found
