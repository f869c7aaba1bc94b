"""The closed schema of every node type: its metadata, and the nodes that it may rest on.

The table is the one place that says what a node looks like; docs/formats/identity.md shows it.
A type may have several shapes; a node has exactly one of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from trlm_lab.base.records.node_kinds import KINDS, absolute_path
from trlm_lab.errors import (
    NodeChildrenError,
    NodeKeysError,
    NodePathError,
    NodeReservedError,
    NodeTypeError,
    NodeValueError,
)

ID = "sha256"
BLOB = "blob"


@dataclass(frozen=True)
class Shape:
    """Metadata keys with their kinds, and the types of the children in order.

    A key that ends in `?` may be left out. `children` is a sequence of types separated by blanks:
    `a|b` is one of either, `?` at most one, `*` any number, `+` at least one; `any` is every type,
    and ` / ` stands between two sequences of which a node has one.
    """

    keys: Mapping[str, str]
    children: str = ""

    @cached_property
    def kinds(self) -> dict[str, str]:
        """Kind of every key, without the mark of optional ones."""
        return {key.removesuffix("?"): kind for key, kind in self.keys.items()}

    @cached_property
    def required(self) -> frozenset[str]:
        """Keys that must be there."""
        return frozenset(key for key in self.keys if not key.endswith("?"))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(_sequence, self.children.split(" / "))))

    def takes(self, child_types: Sequence[str]) -> bool:
        """Whether children of these types, in this order, are allowed."""
        return self._pattern.fullmatch("".join(f"{t} " for t in child_types)) is not None

    def misses(self, keys: frozenset[str]) -> tuple[list[str], list[str]]:
        """Keys that are unknown, and keys that are missing, sorted."""
        return sorted(keys - self.kinds.keys()), sorted(self.required - keys)


def _sequence(children: str) -> str:
    """The pattern of one sequence of types, a blank after each."""
    pattern = ""
    for part in children.split():
        types = part.rstrip("?*+")
        pattern += f"(?:(?:{'[a-z_]+' if types == 'any' else types}) ){part[len(types) :]}"
    return pattern


#: A run of a whole suite; after `/`, the run of one case that a golden container was made from.
_ENGINE_CASES = "runtime_build engine_profile case+ / source_tree effective_config case"
_RUN = {"trace_id": ID, "engine": "engine", "trace_blob": BLOB}
_RUNG = {
    "rung": "text",
    "number": "count",
    "tensor": "text",
    "outcome": "outcome",
    "follows": ID,
    "rung_blob": BLOB,
}

SCHEMAS: Final[dict[str, tuple[Shape, ...]]] = {
    "file": (Shape({"path": "path", "size": "count", "sha256": ID}),),
    "source_tree": (Shape({"snapshot_id": ID, "files": "count"}, "file*"),),
    "provenance": (Shape({"statement_blob": BLOB}, "source_tree"),),
    "licence": (
        Shape(
            {"text_sha256": "sha256-or-null", "decision_blob": BLOB, "documents_blob?": BLOB},
            "source_tree",
        ),
    ),
    "acquisition": (
        Shape({"pin": "text", "builder_blob": BLOB}, "source_tree provenance licence"),
    ),
    "observation": (
        Shape({"outcome": "outcome", "failure_blob": BLOB}, "artifact"),
        Shape({"time_blob": BLOB}),
        # How far the oracle of a calibration run moves by itself.
        Shape({"drift_id": ID, "repeats": "flag", "drift_blob": BLOB}, "oracle_run"),
    ),
    "drift": (
        Shape(
            {
                "pin": "text",
                "snapshot_id": ID,
                "pinned": "text",
                "observed": "text",
                "behaviour": "flag",
                "changes_blob": BLOB,
            },
            "observation",
        ),
    ),
    "conflict": (Shape({"findings": "count", "receipt_blob": BLOB}, "source_tree"),),
    "resolution": (
        Shape(
            {
                "conflict_id": ID,
                "code": "text",
                "field": "text",
                "kind": "text",
                "file_sha256": ID,
                "statement": "words",
                "resolution_blob": BLOB,
            },
            "conflict",
        ),
    ),
    "source_defaults": (Shape({"framework": "text", "values_blob": BLOB}, "source_tree"),),
    "effective_config": (
        Shape(
            {"config_id": ID, "config_blob": BLOB},
            "acquisition conflict source_defaults resolution*",
        ),
    ),
    "tokenizer_profile": (
        Shape({"file": "text", "sha256": ID}, "source_tree"),
        Shape(
            {"file": "text", "sha256": ID, "profile_id": ID, "profile_blob": BLOB}, "source_tree"
        ),
    ),
    "template_source": (
        Shape({"place": "text", "source_blob": BLOB, "refusal_blob?": BLOB}, "source_tree"),
    ),
    "template_ir": (Shape({"ir_blob": BLOB}, "template_source"),),
    "quant_profile": (Shape({"name": "text", "profile_blob": BLOB}),),
    "calibration_data": (
        Shape({"calibration_id": ID, "codes_id": ID, "lineage_blob": BLOB}, "source_tree"),
    ),
    "ledger": (Shape({"ledger_id": ID, "ledger_blob": BLOB}, "source_tree effective_config"),),
    "artifact": (
        Shape(
            {
                "format": "text",
                "file_sha256": ID,
                "self_sha256": ID,
                "merkle_root": ID,
                "size": "count",
            },
            "effective_config quant_profile ledger calibration_data?",
        ),
    ),
    # One rung of the quantization ladder; the ground says what the whole ladder is of.
    "ladder_rung": (
        Shape(
            {
                **_RUNG,
                "artifact_sha256": ID,
                "config_id": ID,
                "profile": "text",
                "rows": "ids",
                "ladder_blob": BLOB,
            }
        ),
        Shape(_RUNG, "ladder_rung"),
    ),
    "inspection": (
        Shape(
            {
                "file_sha256": ID,
                "inspection_id": ID,
                "findings": "count",
                "hashes": "count",
                "ledger_entries_verified": "count",
            },
            "artifact",
        ),
    ),
    "environment": (Shape({"environment_blob": BLOB}),),
    "runtime_build": (
        Shape({"name": "text", "version": "text", "build_sha256": ID, "details_blob": BLOB}),
    ),
    "engine_profile": (Shape({"name": "text"}),),
    "case": (
        Shape(
            {
                "case_id": "text",
                "token_ids": "ids",
                "text?": "words",
                "position_ids?": "ids",
                "attention_mask?": "ids",
            },
            "tokenizer_profile? template_ir|template_source?",
        ),
        Shape({"case_id": "text", "container": "text", "golden_blob": BLOB}, "oracle_run|trace"),
        # A container from elsewhere: who generated it is known by the id alone.
        Shape({"case_id": "text", "container": "text", "generator": ID, "golden_blob": BLOB}),
    ),
    "oracle_run": (
        Shape(_RUN, f"source_tree effective_config environment artifact {_ENGINE_CASES}"),
    ),
    "trace": (Shape(_RUN, f"artifact {_ENGINE_CASES}"),),
    "probe": (
        Shape({"probe": "text", "case_id": "text", "plain": ID, "watched": ID}, "oracle_run"),
        Shape({"probe": "text", "rendered_blob": BLOB}, "template_ir"),
        Shape({"probe": "text", "tokenized_blob": BLOB, "tok2_blob": BLOB}, "tokenizer_profile"),
        Shape({"probe": "text", "refusal_blob": BLOB}, "tokenizer_profile"),
    ),
    "tolerance_policy": (
        Shape({"policy_id": ID, "policy_blob": BLOB}, "oracle_run observation?"),
        Shape(
            {
                "policy_id": ID,
                "policy_blob": BLOB,
                "version": "count",
                "supersedes": ID,
                "reason": "text",
                "looser": "count",
                "tighter": "count",
                "added": "count",
                "removed": "count",
            },
            "oracle_run observation? tolerance_policy*",
        ),
    ),
    "comparison": (
        Shape(
            {
                "comparator": "text",
                "comparison_id": ID,
                "comparison_blob": BLOB,
                "outcome": "outcome",
                "artifact": "text",
                "engine_blob": BLOB,
                "noise_blob?": BLOB,
            },
            "oracle_run trace tolerance_policy",
        ),
        Shape(
            {
                "comparator": "text",
                "artifact": "text",
                "outcome": "outcome",
                "engines": "texts",
                "equal": "counts",
                "total": "count",
                "exactness_blob": BLOB,
            },
            "trace+",
        ),
        # By golden containers: no oracle or policy is there to rest on, and a source only where an
        # engine ran a model directory.
        Shape(
            {
                "comparator": "text",
                "artifact_sha256": "sha256-or-null",
                "outcome": "outcome",
                "verdicts_blob": BLOB,
            },
            "runtime_build engine_profile effective_config? case+",
        ),
    ),
    "mismatch": (Shape({"answer_blob": BLOB}),),
    "fault_run": (
        Shape(
            {"fault": "text", "expected": "text", "named": "text-or-null"},
            "oracle_run tolerance_policy mismatch",
        ),
    ),
    "secret_scan": (
        Shape(
            {
                "scope": "text",
                "rules_version": "count",
                "rules_blob": BLOB,
                "exceptions": "sha256-or-empty",
                "findings": "count",
                "findings_blob": BLOB,
            },
            "any+",
        ),
    ),
    "promotion": (
        Shape(
            {"claims_blob": BLOB, "holds": "flag"},
            "source_tree probe* effective_config ledger|inspection* probe comparison* observation*"
            " secret_scan? fault_run? template_ir|template_source?",
        ),
    ),
    "notebook": (
        Shape(
            {
                "name": "text",
                "source_sha256": ID,
                "notebook_blob": BLOB,
                "outputs_sha256": ID,
                "outputs_blob": BLOB,
            },
            "any*",
        ),
    ),
    "report": (
        Shape({"report_blob": BLOB, "files_blob": BLOB}, "promotion notebook* secret_scan?"),
    ),
}

#: Names that later kinds of evidence will bear; nothing may be stored under them before they have
#: a schema.
RESERVED: Final[frozenset[str]] = frozenset(
    {
        "conversation_turn",
        "generation",
        "repro",
        "sampler_profile",
        "sealed_commitment",
        "stat_plan",
        "stat_result",
    }
)


def shape_of(node_type: str, metadata: Mapping[str, Any]) -> Shape:
    """The shape whose keys these are.

    Raises:
        NodeTypeError: no such type.
        NodeReservedError: a type without a schema yet.
        NodeKeysError: unknown or missing keys.
    """
    if node_type in RESERVED:
        raise NodeReservedError(where=node_type)
    if node_type not in SCHEMAS:
        raise NodeTypeError(where=f"{node_type:.80}", known=", ".join(sorted(SCHEMAS)))
    keys = frozenset(metadata)
    for shape in SCHEMAS[node_type]:
        if shape.required <= keys <= shape.kinds.keys():
            return shape
    nearest = min(SCHEMAS[node_type], key=lambda s: sum(map(len, s.misses(keys))))
    unknown, missing = nearest.misses(keys)
    said = [f"unknown {_few(unknown)}"] * bool(unknown) + [f"no {_few(missing)}"] * bool(missing)
    raise NodeKeysError(where=node_type, detail=", ".join(said), known=", ".join(nearest.keys))


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name)[:60] for name in names[:4])
    return f"{shown} and {len(names) - 4} more" if len(names) > 4 else shown


def check_metadata(node_type: str, metadata: Mapping[str, Any]) -> Shape:
    """Hold metadata against the schema of its type; returns the shape that it has.

    Raises:
        NodeTypeError, NodeReservedError, NodeKeysError: as `shape_of`.
        NodeValueError: a value of another kind.
        NodePathError: an absolute path in a value.
    """
    shape = shape_of(node_type, metadata)
    for key, value in metadata.items():
        kind = KINDS[shape.kinds[key]]
        if not kind.accepts(value):
            where = f"{node_type}.{key}"
            raise NodeValueError(where=where, got=f"{value!r:.80}", wanted=kind.words)
        if kind.searched and (found := absolute_path(value)):
            raise NodePathError(where=f"{node_type}.{key}", got=f"{found!r:.80}")
    return shape


def check_children(node_type: str, shape: Shape, child_types: Sequence[str]) -> None:
    """Hold the types of the children against the shape. Raises NodeChildrenError."""
    if shape.takes(child_types):
        return
    got = " ".join(child_types) or "nothing"
    raise NodeChildrenError(
        where=node_type, got=f"{got:.200}", wanted=shape.children or "no children"
    )


def blob_keys(shape: Shape, metadata: Mapping[str, Any]) -> list[str]:
    """The keys of the metadata that name blobs of the store."""
    return [key for key in metadata if shape.kinds[key] == BLOB]
