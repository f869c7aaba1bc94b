"""Containers from one stored trace: what they share, and each case with its receipt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base import canon
from trlm_lab.base.names import is_checkpoint, parse_checkpoint
from trlm_lab.base.records import Case, EngineIdentity
from trlm_lab.calibrate import load_policy
from trlm_lab.errors import (
    GoldenExportError,
    GoldenPolicyError,
    GoldenSecretError,
    TraceCorruptError,
)
from trlm_lab.flows.acquisition import Source, describe_source
from trlm_lab.flows.model_templates import chosen_template, template_bytes
from trlm_lab.flows.secret_exceptions import SecretExceptions
from trlm_lab.flows.secrets_graph import known_ids, scan_graph
from trlm_lab.flows.workspace import Workspace
from trlm_lab.golden import (
    DTYPES,
    INPUTS,
    SCHEMA,
    TOP_K,
    Bounds,
    Golden,
    GoldenCase,
    GoldenInput,
    GoldenObservation,
    GoldenTopK,
    array_bytes,
    encode_case,
    exact_id,
    write_golden,
)
from trlm_lab.receipts import ReceiptStore, copy_graph
from trlm_lab.traces import SafetensorsTrace, TraceStore

#: Profiles whose values are the same bits on every machine and engine.
EXACT_PROFILES = ("scalar-f32-v1", "lanes16-f32-v1")

Trace = TraceStore | SafetensorsTrace


@dataclass(frozen=True)
class Exported:
    """A written container and its node in the receipt store beside it."""

    golden: Golden
    node: str

    def row(self) -> dict[str, Any]:
        """JSON-ready row."""
        observations = self.golden.case.observations
        blobs = {o.sha256: o.nbytes for o in observations}
        return {
            "path": str(self.golden.root),
            "case": self.golden.case.extras["x_case"],
            "observations": len(observations),
            "bytes": len(self.golden.data) + sum(blobs.values()),
            "document_sha256": self.golden.sha256,
            "vectors_sha256": vectors_sha256(self.golden),
            "node": self.node,
        }


def vectors_sha256(golden: Golden) -> str:
    """Identity of the vectors alone: names, types, parts and hashes, whoever made them."""
    return canon.content_id(
        [
            [o.name, o.dtype, list(o.shape), o.slice_description, o.data_blob_hash]
            for o in golden.case.observations
        ]
    )


class Exporter:
    """What the containers of one export share.

    Receipts are made in the store of `ws`, where nobody sees them; what a container rests on goes
    to `published` once the scan has found no secret in any of it.
    """

    def __init__(
        self,
        ws: Workspace,
        view: Trace,
        source: Source,
        policy: Path | None,
        published: ReceiptStore,
        exceptions: SecretExceptions,
    ) -> None:
        self.ws, self.view, self.source = ws, view, source
        self.published, self.exceptions = published, exceptions
        self.engine: EngineIdentity = view.identity
        described = describe_source(ws, source)
        self.config = described.config.config_id
        if view.subject.get("config") not in (None, self.config):
            detail = "the trace is of another effective configuration than the model's"
            raise GoldenExportError(where="model", detail=detail)
        self.parents = [source.nodes["source_tree"], described.nodes["effective_config"]]
        self.tolerance, self.tolerance_name = self._tolerance(policy)
        template = chosen_template(source.root, described.receipt)
        data = b"" if template is None else template_bytes(template)
        self.template = bytes.fromhex(canon.sha256_hex(data))
        self._clean: set[str] = set()

    def _tolerance(self, policy: Path | None) -> tuple[bytes, str]:
        if policy is not None:
            frozen = load_policy(policy)
            return bytes.fromhex(frozen.policy_id), f"policy {frozen.name}"
        profile = self.engine.profile
        if profile not in EXACT_PROFILES:
            detail = f"the profile {profile} is not exact, so a frozen policy is needed"
            raise GoldenPolicyError(where=self.engine.name, detail=detail)
        return exact_id(profile), f"exact {profile}"

    def export(self, out: Path, case_id: str, bounds: Bounds) -> Exported:
        """Write `out/<case>` and its receipt. Raises GoldenExportError, TraceCorruptError."""
        case = case_of(self.view, case_id)
        generator = self._generator(case)
        blobs: list[bytes] = []
        rows = list(self._observations(case_id, bounds, blobs))
        missing = set(bounds.layers or ()) - {row.layer for row in rows}
        if missing:
            detail = f"the trace has no layer {min(missing)}"
            raise GoldenExportError(where=case_id, detail=detail)
        container = self._container(case, generator, tuple(rows))
        node = self._receipt(encode_case(container), case_id, generator)
        self._refuse_secrets(node, case.digest)
        golden = write_golden(out / case_id, container, blobs)
        copy_graph(self.ws.store, self.published, node)
        return Exported(golden, node)

    def _generator(self, case: Case) -> str:
        store = self.ws.store
        kind = "oracle_run" if self.engine.name.split(":")[0] == "torch" else "trace"
        record = self.view.record()
        return store.add(
            kind,
            {
                "trace_id": record.trace_id,
                "engine": record.engine.to_map(),
                "trace_blob": store.put_value(record.to_map()),
            },
            [*self.parents, store.add("case", case.to_map(), [])],
        )

    def _receipt(self, document: bytes, case_id: str, generator: str) -> str:
        store = self.ws.store
        blob = store.blobs.put(document)
        metadata = {"case_id": case_id, "container": SCHEMA, "golden_blob": blob}
        return store.add("case", metadata, [generator])

    def _refuse_secrets(self, node: str, digest: str) -> None:
        """Scan the container's document, its receipt, and all that this rests on."""
        known = known_ids(self.ws.store, [node]) | {digest, self.view.trace_id}
        for found in scan_graph(self.ws.store, [node], known, self._clean):
            if not self.exceptions.reason(found):
                detail = f"the secret scan finds {found.rule} ({found.hint})"
                raise GoldenSecretError(where=found.where, detail=detail)

    def _observations(
        self, case_id: str, bounds: Bounds, blobs: list[bytes]
    ) -> Iterator[GoldenObservation]:
        for name in bounds.chosen(self.view.names(case_id)):
            values = _checked(self.view, case_id, name)
            part = bounds.part(name, values.shape)
            kept = values if part is None else part.cut(values)
            blobs.append(array_bytes(kept))
            yield GoldenObservation(
                name=name,
                semantic_role=_role(name),
                layer=parse_checkpoint(name).layer if is_checkpoint(name) else None,
                shape=kept.shape,
                dtype=DTYPES[kept.dtype.name],
                data_blob_hash=bytes.fromhex(canon.sha256_hex(blobs[-1])),
                slice_description=None if part is None else str(part),
                tolerance_profile=self.tolerance,
            )

    def _container(
        self, case: Case, generator: str, rows: tuple[GoldenObservation, ...]
    ) -> GoldenCase:
        top = self._top_k(case.case_id)
        return GoldenCase(
            case_id=bytes.fromhex(case.digest),
            case_class="public_mechanical",
            source_identity=bytes.fromhex(self.source.snapshot.snapshot_id),
            effective_config_identity=bytes.fromhex(self.config),
            tokenizer_identity=self._file_id("tokenizer.json"),
            template_identity=self.template,
            oracle_generator_identity=bytes.fromhex(canon.content_id(self.engine.to_map())),
            input=GoldenInput(
                "token_ids",
                np.asarray(case.token_ids, dtype="<u4").tobytes(),
                case.position_ids,
                case.attention_mask,
            ),
            observations=rows,
            top_k=top,
            expected_tokens=(top[0].id,) if top else None,
            generator_receipt=bytes.fromhex(generator),
            extras={
                "x_case": case.case_id,
                "x_engine": self.engine.name,
                "x_tolerance": self.tolerance_name,
                "x_trace": self.view.trace_id,
            },
        )

    def _file_id(self, name: str) -> bytes:
        """SHA-256 of a file of the snapshot; of nothing where there is none."""
        path = self.source.root / name
        return bytes.fromhex(canon.sha256_hex(path.read_bytes() if path.is_file() else b""))

    def _top_k(self, case_id: str) -> tuple[GoldenTopK, ...]:
        if not set(TOP_K) <= set(self.view.names(case_id)):
            return ()
        ids, values = (self.view.read(case_id, name)[-1] for name in TOP_K)
        bits = np.asarray(values, dtype="<f4")
        return tuple(GoldenTopK(int(i), v.tobytes()) for i, v in zip(ids, bits, strict=True))


def case_of(view: Trace, case_id: str) -> Case:
    """The case that a trace was run on. Raises GoldenExportError where it does not say so."""
    if isinstance(view, TraceStore):
        return view.case(case_id)
    names = view.names(case_id)
    if "token_ids" not in names:
        raise GoldenExportError(where=case_id, detail="the trace does not hold its token ids")
    held = {n: tuple(view.read(case_id, n).reshape(-1).tolist()) for n in INPUTS if n in names}
    ids, positions, mask = (held.get(name) for name in INPUTS)
    return Case(case_id, ids or (), None, positions, mask)


def _checked(view: Trace, case_id: str, name: str) -> NDArray[Any]:
    """An array whose bytes are those of its declared digest, where the trace declares one."""
    values = view.read(case_id, name)
    if isinstance(view, TraceStore):
        wanted, got = view.digest(case_id, name).sha256, canon.array_sha256(values)
        if got != wanted:
            detail = f"{name} hashes to {got}, declared is {wanted}"
            raise TraceCorruptError(where=str(view.path / case_id), detail=detail)
    return values


def _role(name: str) -> str:
    if name in INPUTS:
        return "input"
    return "checkpoint" if is_checkpoint(name) else "top_k"
