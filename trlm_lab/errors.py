"""Every exception of the project: one root, one class per broken rule.

A class states its rule and the likely fix as format strings; the raise site gives only facts.
The text is derived, so that a refusal always names its code, the place and what to do.
"""

from __future__ import annotations

from string import Formatter
from typing import Any, ClassVar


class TrlmError(Exception):
    """Root of all errors. `where` is the place: a file, tensor, field, byte offset or index.

    Subclasses set `code` (stable, upper case), `rule` and `fix` (format strings over the facts)
    and `exit_status` (of the command line). Facts are kept as attributes in `facts`.
    """

    code: ClassVar[str] = "TRLM"
    rule: ClassVar[str] = "{detail}"
    fix: ClassVar[str] = ""
    exit_status: ClassVar[int] = 3

    def __init__(self, *, where: str = "", **facts: Any) -> None:
        wanted = {name for _, name, _, _ in Formatter().parse(self.rule + self.fix) if name}
        missing = wanted - set(facts)
        if missing:
            raise TypeError(f"{type(self).__name__} lacks the facts {sorted(missing)}")
        self.where = where
        self.facts = facts
        super().__init__(self.text)

    @property
    def detail(self) -> str:
        """The broken rule with the facts filled in."""
        return self.rule.format(**self.facts)

    @property
    def remedy(self) -> str:
        """The likely fix with the facts filled in; empty where none is known."""
        return self.fix.format(**self.facts)

    @property
    def text(self) -> str:
        """One line: code, place, rule, fix."""
        place = f" at {self.where}" if self.where else ""
        remedy = f" Fix: {self.remedy}" if self.fix else ""
        return f"{self.code}{place}: {self.detail}.{remedy}"

    def as_finding(self) -> dict[str, str]:
        """The machine-readable form that `trlm check` prints."""
        return {"code": self.code, "where": self.where, "detail": self.detail, "fix": self.remedy}


class Refused(TrlmError):
    """Input that breaks a rule (exit status 3)."""

    code = "REFUSED"


class UsageError(TrlmError):
    """A wrong call by the user (exit status 2)."""

    code = "USAGE"
    exit_status = 2


class InfrastructureError(TrlmError):
    """A missing engine, a lost device, a time limit (exit status 4)."""

    code = "INFRA"
    exit_status = 4


class ClaimFailed(TrlmError):
    """A claim does not hold (exit status 1)."""

    code = "CLAIM_FAILED"
    exit_status = 1


# --- base: canonical encoding and the blob store -------------------------------------------------


class NotCanonicalError(Refused):
    """CBOR that is not in the one deterministic form."""

    code = "NOT_CANONICAL"
    rule = "the bytes are not deterministic CBOR (RFC 8949 4.2.1): {detail}"
    fix = "write the value with trlm_lab.base.canon.encode"


class NotEncodableError(Refused):
    """A value that the canonical encoding forbids."""

    code = "NOT_ENCODABLE"
    rule = "{detail}"
    fix = "use text keys, finite numbers, texts, byte strings, lists and maps"


class BlobMissingError(Refused):
    """A content id that the store does not hold."""

    code = "BLOB_MISSING"
    rule = "no blob with SHA-256 {sha256}"
    fix = "copy the store whole, or rerun the step that made the blob"


class BlobCorruptError(Refused):
    """Stored bytes whose hash is not their name."""

    code = "BLOB_CORRUPT"
    rule = "the bytes hash to {got}, the name says {expected}"
    fix = "restore the file from another copy; content-addressed files are never edited"


class DuplicateNameError(UsageError):
    """Two things registered, or found, under one name."""

    code = "DUPLICATE_NAME"
    rule = "the name {name!r} is taken"
    fix = "choose another name"


class UnknownNameError(UsageError):
    """A name that is not in the table."""

    code = "UNKNOWN_NAME"
    rule = "{kind} {name!r} is unknown; known: {known}"
    fix = "use one of the known names"


class RecordError(Refused):
    """A record whose fields contradict each other or their types."""

    code = "RECORD"
    rule = "{detail}"


class NonFiniteError(Refused):
    """A NaN or infinity where none may be."""

    code = "NONFINITE"
    rule = "element {index} has the bits {bits}"
    fix = "look at the operator before this boundary; non-finite values are never repaired"


# --- receipts ------------------------------------------------------------------------------------


class NodeMissingError(Refused):
    """A node id that the store does not hold."""

    code = "NODE_MISSING"
    rule = "no node {node_id}"
    fix = "list the nodes with `trlm receipts log`"


class NodeCorruptError(Refused):
    """A node file whose content makes another id."""

    code = "NODE_CORRUPT"
    rule = "the content makes the id {got}, the name says {expected}"
    fix = "restore the file from another copy; nodes are never edited"


class ChildMissingError(Refused):
    """A node that names a child which is not stored."""

    code = "CHILD_MISSING"
    rule = "the child {child} is not in the store"
    fix = "store children before their parents"


# --- backends: process adapter, llama.cpp, planted faults ----------------------------------------


class ProcessCommandError(UsageError):
    """A backend command that names nothing that can be run."""

    code = "PROCESS_COMMAND"
    rule = "the command {command!r} cannot be run: {detail}"
    fix = "give a program and its arguments, or the path of a trlm.process.runner.v1 file (.json)"


class RunnerFileError(Refused):
    """A runner file that breaks its schema."""

    code = "RUNNER_FILE"
    rule = "{detail}"
    fix = "see docs/process-adapter.md for the fields of trlm.process.runner.v1"


class CaseFileError(Refused):
    """A case file that breaks its schema."""

    code = "CASE_FILE"
    rule = "{detail}"
    fix = 'write {{"schema":"trlm.process.cases.v1","cases":[{{"case_id":"a","token_ids":[1]}}]}}'


class ModelShapeError(Refused):
    """A model directory whose configuration does not tell the shapes of the checkpoints."""

    code = "MODEL_SHAPE"
    rule = "{detail}"
    fix = "give a model directory with a Hugging Face config.json"


class ProcessTimeoutError(InfrastructureError):
    """A runtime that did not finish within its time limit."""

    code = "PROCESS_TIMEOUT"
    rule = "the runtime ran past its limit of {seconds:g} s and was killed{stderr}"
    fix = "raise --timeout or limits.seconds, or give fewer or shorter cases"


class ProcessCrashedError(InfrastructureError):
    """A runtime that ended with an error or a signal."""

    code = "PROCESS_CRASHED"
    rule = "the runtime ended with {ending}{stderr}"
    fix = "run the command by hand with a request file and an output directory"


class ProcessReportError(InfrastructureError):
    """A runtime whose report.json is missing or malformed."""

    code = "PROCESS_REPORT"
    rule = "{detail}{stderr}"
    fix = "write report.json as docs/process-adapter.md says"


class ProcessOutputError(InfrastructureError):
    """A runtime whose tensors are missing, malformed, or of another name, dtype or shape."""

    code = "PROCESS_OUTPUT"
    rule = "{detail}"
    fix = "write float32 tensors of the names and shapes in docs/process-adapter.md"


class CaseNotSupportedError(InfrastructureError):
    """A case that the runtime says it cannot do; the verdict is NOT_SUPPORTED, never a pass."""

    code = "NOT_SUPPORTED"
    rule = "the runtime does not support this case: {detail}"
    fix = "leave the case out for this runtime"


class PeerMissingError(InfrastructureError):
    """A peer runtime that is not installed."""

    code = "NOT_SUPPORTED"
    rule = "{peer} is not installed: {detail}"
    fix = "run `{command}`"


class PeerBuildError(InfrastructureError):
    """A peer runtime that could not be built."""

    code = "PEER_BUILD"
    rule = "{step} failed with {ending}; last lines:{log}"
    fix = "install a C++ compiler and cmake, then run `{command}` again"


class FaultNameError(UsageError):
    """A fault specification that is not NAME@LAYER."""

    code = "FAULT_NAME"
    rule = "{spec!r} is no planted fault: {detail}"
    fix = "spell it NAME@LAYER, with a name of `trlm faults list` and a layer of the model"


class FaultNotApplicableError(UsageError):
    """A fault that this artifact or this model cannot have."""

    code = "FAULT_NOT_APPLICABLE"
    rule = "the fault {fault} cannot be planted here: {detail}"
    fix = "choose another fault, layer or artifact"
