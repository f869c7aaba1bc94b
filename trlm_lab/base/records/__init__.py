"""The frozen records through which stages meet; one file an arrow of the architecture."""

from trlm_lab.base.records.artifact import Artifact
from trlm_lab.base.records.case import Case, CaseSuite
from trlm_lab.base.records.comparison import (
    CaseComparison,
    CheckpointComparison,
    Comparison,
    LogitMetrics,
    Metrics,
)
from trlm_lab.base.records.config import EffectiveConfig
from trlm_lab.base.records.engine import Availability, EngineIdentity
from trlm_lab.base.records.inspection import (
    Finding,
    HashCheck,
    InspectedField,
    InspectedPiece,
    InspectedTensor,
    Inspection,
)
from trlm_lab.base.records.ledger import Ledger, LedgerEntry, Omission, Probes, Transform
from trlm_lab.base.records.mismatch import Mismatch
from trlm_lab.base.records.node import Node
from trlm_lab.base.records.outcome import FAULTS, SOUND, Outcome
from trlm_lab.base.records.policy import PolicyEntry, TolerancePolicy
from trlm_lab.base.records.snapshot import Pin, Snapshot, SourceFile
from trlm_lab.base.records.source_defaults import SourceDefault, SourceDefaults
from trlm_lab.base.records.trace import ArrayDigest, CaseTrace, Observation, TraceRecord

__all__ = [
    "FAULTS",
    "SOUND",
    "ArrayDigest",
    "Artifact",
    "Availability",
    "Case",
    "CaseComparison",
    "CaseSuite",
    "CaseTrace",
    "CheckpointComparison",
    "Comparison",
    "EffectiveConfig",
    "EngineIdentity",
    "Finding",
    "HashCheck",
    "InspectedField",
    "InspectedPiece",
    "InspectedTensor",
    "Inspection",
    "Ledger",
    "LedgerEntry",
    "LogitMetrics",
    "Metrics",
    "Mismatch",
    "Node",
    "Observation",
    "Omission",
    "Outcome",
    "Pin",
    "PolicyEntry",
    "Probes",
    "Snapshot",
    "SourceDefault",
    "SourceDefaults",
    "SourceFile",
    "TolerancePolicy",
    "TraceRecord",
    "Transform",
]
