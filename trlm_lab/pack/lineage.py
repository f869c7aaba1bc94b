"""The ledger of an artifact, derived from its bytes and those of its source alone."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trlm_lab.base.model_parts import EMBEDDING, HEAD
from trlm_lab.base.records import (
    EffectiveConfig,
    Ledger,
    LedgerEntry,
    Omission,
    Probes,
    Transform,
)
from trlm_lab.base.safetensors_header import StoredTensor
from trlm_lab.errors import PackSourceError
from trlm_lab.pack.artifact_file import map_file
from trlm_lab.pack.codes import Codes
from trlm_lab.pack.probes import (
    destination_product,
    probe_places,
    source_element,
    source_product,
)
from trlm_lab.pack.profile_choice import profile_of
from trlm_lab.pack.profiles import quant_profile_id
from trlm_lab.pack.progress import Progress, silent
from trlm_lab.pack.source import Part, Sources, byte_strides, open_sources
from trlm_lab.pack.weights import row_slices, rows_between
from trlm_lab.quant import GROUPED
from trlm_lab.quant.grouped import UNIT
from trlm_lab.slm.numbers import DType, Layout
from trlm_lab.slm.read import SlmFile, SlmTensor, open_slm, residual_payload

_CHUNK = 1 << 20
_LOST = "each weight is rounded to the nearest multiple of its group's scale"
_LOST_CALIBRATED = "each weight takes the code that the calibrated quantizer chose for it"
_LOST_NARROW = "each weight is rounded to the nearest value of the narrower float"
_LOST_RESIDUAL = "all differences but the largest of each row are dropped, those are rounded"
_UNREAD = "no product reads it, and a strict reader refuses any other code there"


def derive_ledger(
    artifact: Path, root: Path, progress: Progress = silent, codes: Codes | None = None
) -> Ledger:
    """What became of every tensor of a source, by the bytes of both files.

    Raises:
        SlmError: the artifact is malformed.
        PackUnknownTensorError and its neighbours: as `open_sources`.
    """
    slm = open_slm(map_file(artifact), where=artifact.name)
    config = EffectiveConfig.from_map(slm.config)
    return ledger_of(slm, open_sources(root, config), config, progress, codes)


def ledger_of(
    slm: SlmFile,
    sources: Sources,
    config: EffectiveConfig,
    progress: Progress = silent,
    codes: Codes | None = None,
) -> Ledger:
    """As `derive_ledger`, over an opened artifact and an opened source, with calibrated codes."""
    derived = _Derived(slm, sources, codes)
    entries = []
    for done, tensor in enumerate(slm.tensors):
        progress("ledger", done, len(slm.tensors))
        entries.append(derived.entry(tensor))
    progress("ledger", len(slm.tensors), len(slm.tensors))
    omissions = tuple(
        _omission(stored, derived.sha256(stored), source.omitted)
        for source, stored in sources.omitted
    )
    return Ledger(tuple(entries), _exceptions(sources, config), omissions)


@dataclass(frozen=True)
class _Payload:
    """Byte ranges of data and scales; a tensor without scales has an empty second one at 0."""

    data: tuple[int, int]
    scales: tuple[int, int]

    @property
    def begin(self) -> int:
        """The first byte."""
        return self.data[0]

    @property
    def end(self) -> int:
        """Behind the last byte."""
        return max(self.data[1], self.scales[1])


class _Derived:
    """One artifact beside its source; a source tensor of several parts is hashed once."""

    def __init__(self, slm: SlmFile, sources: Sources, codes: Codes | None) -> None:
        self._slm, self._sources, self._codes = slm, sources, codes
        self._profile = profile_of(slm, sources, codes).name
        self._digests: dict[str, str] = {}

    def sha256(self, stored: StoredTensor) -> str:
        """SHA-256 of a stored tensor's bytes."""
        name = stored.info.name
        if name not in self._digests:
            self._digests[name] = _range_sha256(stored)
        return self._digests[name]

    def entry(self, tensor: SlmTensor) -> LedgerEntry:
        """The entry of one tensor of the artifact."""
        part, payload = self._part(tensor), self._payload(tensor)
        info = part.stored.info
        digest = hashlib.sha256(tensor.data)
        digest.update(tensor.scales)
        return LedgerEntry(
            source_name=info.name,
            source_file=part.stored.path.name,
            source_range=(info.begin, info.end),
            source_shape=info.shape,
            source_strides=byte_strides(info),
            source_dtype=info.dtype,
            source_sha256=self.sha256(part.stored),
            role=tensor.role.name,
            transforms=self._transforms(tensor, part, payload),
            destination_name=tensor.name,
            destination_shape=tensor.dims,
            destination_layout=Layout(tensor.descriptor.layout).name,
            destination_dtype=tensor.dtype.name,
            destination_range=(payload.begin, payload.end),
            destination_sha256=digest.hexdigest(),
            probes=_probes(tensor, part),
        )

    def _payload(self, tensor: SlmTensor) -> _Payload:
        """Where data and scales lie in the file; of an alias those of its target."""
        target = self._slm.tensor(tensor.alias_of) if tensor.alias_of else tensor
        place = target.descriptor
        data = (place.data_off, place.data_off + place.data_len)
        scales = (place.aux_off, place.aux_off + place.aux_len)
        return _Payload(data, scales)

    def _part(self, tensor: SlmTensor) -> Part:
        if tensor.alias_of == EMBEDDING and self._sources.head is not None:
            return Part(self._sources.head)
        part = self._sources.parts.get(tensor.residual_of or tensor.alias_of or tensor.name)
        if part is None or part.shape != tensor.dims:
            detail = f"nothing in the source becomes the tensor {tensor.name!r} of {tensor.dims}"
            raise PackSourceError(where=str(self._sources.root), detail=detail)
        return part

    def _transforms(
        self, tensor: SlmTensor, part: Part, payload: _Payload
    ) -> tuple[Transform, ...]:
        if tensor.alias_of:
            return (Transform("alias", {"target": tensor.alias_of}),)
        steps = list(part.steps)
        if part.stored.info.dtype != "F32":
            steps.append(Transform("widen", {"from": part.stored.info.dtype, "to": "F32"}))
        if tensor.dtype == DType.f32:
            return (*steps, Transform("copy"))
        parameters = {
            "profile": self._profile,
            "profile_id": quant_profile_id(self._profile),
            "data_range": list(payload.data),
            "scales_range": list(payload.scales),
        }
        if tensor.residual_of is not None:
            facts = {"of": tensor.residual_of, "entries": residual_payload(tensor)[0]}
            steps.append(Transform("residual", {**facts, **parameters, "lost": _LOST_RESIDUAL}))
            return tuple(steps)
        grouped = tensor.dtype.name in GROUPED
        lost = _LOST if grouped else _LOST_NARROW
        if self._codes is not None and tensor.name in self._codes.record["tensors"]:
            lost = _LOST_CALIBRATED
            parameters["codes_id"] = self._codes.codes_id
            parameters["calibration_id"] = self._codes.calibration_id
        steps.append(Transform("quantize", {**parameters, "lost": lost}))
        physical = -(-tensor.cols // UNIT) * UNIT
        if grouped and physical > tensor.cols:
            shapes = {"logical": [tensor.rows, tensor.cols], "physical": [tensor.rows, physical]}
            steps.append(Transform("pad", {**shapes, "fill": "code 0", "unread": _UNREAD}))
        return tuple(steps)


def _omission(stored: StoredTensor, sha256: str, reason: str) -> Omission:
    info = stored.info
    return Omission(
        source_name=info.name,
        source_file=stored.path.name,
        source_range=(info.begin, info.end),
        source_shape=info.shape,
        source_dtype=info.dtype,
        source_sha256=sha256,
        reason=reason,
    )


def _range_sha256(stored: StoredTensor) -> str:
    digest, left = hashlib.sha256(), stored.info.end - stored.info.begin
    with stored.path.open("rb") as stream:
        stream.seek(stored.info.begin)
        while left > 0 and (chunk := stream.read(min(left, _CHUNK))):
            digest.update(chunk)
            left -= len(chunk)
    return digest.hexdigest()


def _probes(tensor: SlmTensor, part: Part) -> Probes:
    name = tensor.alias_of or tensor.name
    elements = []
    for flat in probe_places(name, tensor.rows * tensor.cols):
        row, col = divmod(flat, tensor.cols)
        stored = int(rows_between(tensor, row, row + 1)[0].view(np.uint32)[col])
        elements.append((flat, source_element(part, flat), stored))
    products = source_product(part, name), destination_product(row_slices(tensor), name)
    return Probes(*products, tuple(elements))


def _exceptions(sources: Sources, config: EffectiveConfig) -> tuple[str, ...]:
    """Departures from a bijection between source and destination tensors."""
    rows = []
    split: dict[str, list[str]] = {}
    for name, part in sources.parts.items():
        split.setdefault(part.stored.info.name, []).append(name)
    for source, made in split.items():
        if len(made) > 1:
            rows.append(f"{source} is split into {', '.join(made)}")
    if config.tie_word_embeddings:
        copy = "is not in the source; the tied head is an alias"
        if sources.head is not None:
            copy = "is stored in the source with the bytes of the embedding; kept as an alias"
        rows.append(f"{HEAD} {copy} of {EMBEDDING}")
    rows += [f"{source.name} is left out: {source.omitted}" for source, _ in sources.omitted]
    return tuple(rows)
