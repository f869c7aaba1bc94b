"""Errors of whole runs and of the command line."""

from __future__ import annotations

from trlm_lab.errors.root import ClaimFailed, InfrastructureError, Refused, UsageError


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


class NoRunError(UsageError):
    """A directory without a run where one is expected."""

    code = "NO_RUN"
    rule = "no run to read here: {detail}"
    fix = "make one with `trlm demo` or `trlm run SOURCE --out DIR`"


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


class PathMissingError(Refused):
    """A path that does not exist."""

    code = "PATH_MISSING"
    rule = "there is no such file or directory"
    fix = "check the spelling"


class UncheckableError(UsageError):
    """A file of a kind that `trlm check` does not know."""

    code = "UNCHECKABLE"
    rule = "this kind of file is not checked"
    fix = (
        "give a model directory, a golden container, an attestation, or a .safetensors, .gguf, "
        ".slm, .tok2, tokenizer.json or .cbor file"
    )


class SubjectMissingError(UsageError):
    """An engine is asked to run without anything that it can open."""

    code = "SUBJECT_MISSING"
    rule = "there is neither a model directory nor an artifact that this engine opens"
    fix = "give --model DIR or --artifact FILE"


class ReviewedUnusedError(UsageError):
    """Reviewed files about a source for a command that reads none."""

    code = "REVIEWED_UNUSED"
    rule = "what was reviewed is about a source, and {engine} runs a `.slm`"
    fix = "leave the reviewed files out, or give --model without --artifact"


class NpzUnreadableError(Refused):
    """An operand file that is no archive of plain arrays."""

    code = "NPZ_UNREADABLE"
    rule = "no archive of plain arrays: {detail}"
    fix = "write it with numpy.savez"


class RunInterruptedError(InfrastructureError):
    """A worker that stops because the run was interrupted."""

    code = "INTERRUPTED"
    rule = "the run was interrupted"
    fix = "run the same command again to go on"


class SystemRefusedError(InfrastructureError):
    """The operating system refuses a file operation."""

    code = "SYSTEM_REFUSED"
    rule = "the system refuses: {detail}"
    fix = "check the path, its permissions and the space left"


class OutputIsInputError(UsageError):
    """An output that would overwrite what it is made from."""

    code = "OUTPUT_IS_INPUT"
    rule = "this output would overwrite its own source"
    fix = "write somewhere else"


class OutputNotPlainError(UsageError):
    """An output path that a device, pipe, socket or directory has."""

    code = "OUTPUT_NOT_PLAIN"
    rule = "this is {kind}, only a plain file is written or replaced"
    fix = "give the path of a file, a new one or one to replace"


class LockHeldError(InfrastructureError):
    """A directory that another process is writing at this moment."""

    code = "DIRECTORY_BUSY"
    rule = "process {holder} is writing here"
    fix = "wait for it to end, or choose another directory with --out"


class DirectoryForeignError(UsageError):
    """An output directory with files that no earlier run of ours wrote."""

    code = "DIRECTORY_FOREIGN"
    rule = "this is neither new nor empty, and no earlier {kind} wrote it (here is {found})"
    fix = "choose an empty or new directory"


class DirectoryDiffersError(UsageError):
    """An output directory that holds results of other inputs."""

    code = "DIRECTORY_DIFFERS"
    rule = "the directory holds results of the {part} {held}, asked for is {wanted}"
    fix = "choose another directory with --out; one directory holds one job"


class StoreMissingError(Refused):
    """A directory without a receipt store where one is expected."""

    code = "STORE_MISSING"
    rule = "no receipt store is here"
    fix = "give the directory of a run with --dir"


class ReceiptMissingError(Refused):
    """A store that no finished run has sealed."""

    code = "RECEIPT_MISSING"
    rule = "no sealed receipt is here: {detail}"
    fix = "run it again to the end, or name a node of `trlm receipts log`"


class ProbeAnswerError(InfrastructureError):
    """An engine that ran the probe model and yields no logits to read."""

    code = "PROBE_ANSWER"
    rule = "the engine yields no logits of the probe model"
    fix = "expose `logits`: they are what a probe reads"


class ProbeDeviationError(ClaimFailed):
    """An engine whose arithmetic is not that of the profile it names."""

    code = "PROBE_DEVIATION"
    rule = "{deviations}"
    fix = "build without fast-math, fusing and flush-to-zero, or name another profile"


class CommandLineError(UsageError):
    """A command line that the parser refuses."""

    rule = "{detail}"
    fix = "see `{command} --help`"


class InternalError(InfrastructureError):
    """An exception that no rule of ours speaks of: a fault of this program."""

    code = "INTERNAL"
    rule = "{kind}: {detail}"
    fix = "report it with the traceback on standard error"


class TrainedModelMissingError(InfrastructureError):
    """The small model of the quantization figures, which every machine trains for itself."""

    code = "TRAINED_MODEL_MISSING"
    rule = "the trained model is not in the cache"
    fix = "python tools/fetch_text.py, then python tools/train_text_model.py"
