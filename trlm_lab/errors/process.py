"""Errors of the process adapter, of llama.cpp and of planted faults."""

from __future__ import annotations

from trlm_lab.errors.root import InfrastructureError, Refused, UsageError


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
    lines = True
    rule = "the runtime ran past its limit of {seconds:g} s and was killed{stderr}"
    fix = "raise --timeout or limits.seconds, or give fewer or shorter cases"


class ProcessCrashedError(InfrastructureError):
    """A runtime that ended with an error or a signal."""

    code = "PROCESS_CRASHED"
    lines = True
    rule = "the runtime ended with {ending}{stderr}"
    fix = "run the command by hand with a request file and an output directory"


class ProcessReportError(InfrastructureError):
    """A runtime whose report.json is missing or malformed."""

    code = "PROCESS_REPORT"
    lines = True
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


class DecodeNotSupportedError(InfrastructureError):
    """Decode steps asked of an engine that only runs a prefill."""

    code = "NOT_SUPPORTED"
    rule = "{engine} runs a prefill and no decode steps"
    fix = "use reference, native-scalar, wasm-scalar@wasmtime, torch, or a process that serves them"


class PeerMissingError(InfrastructureError):
    """A peer runtime that is not installed."""

    code = "NOT_SUPPORTED"
    rule = "{peer} is not installed: {detail}"
    fix = "run `{command}`"


class PeerEndedError(InfrastructureError):
    """A peer that ended in the middle of its work."""

    code = "PEER_ENDED"
    lines = True
    rule = "{peer} ended with {ending} over this file{stderr}"
    fix = "run `trlm check` on the file; the engine python says by name what is wrong with it"


class PeerSilentError(InfrastructureError):
    """A peer that did not answer in time."""

    code = "PEER_SILENT"
    rule = "{peer} did not answer within {seconds:g} s and was ended"
    fix = "give shorter texts, or use another engine"


class PeerBuildError(InfrastructureError):
    """A peer runtime that could not be built."""

    code = "PEER_BUILD"
    lines = True
    rule = "{step} failed with {ending}; last lines:{log}"
    fix = "install a C++ compiler and cmake, then run `{command}` again"


class ConversionError(InfrastructureError):
    """A model that the converter of llama.cpp did not convert."""

    code = "PEER_CONVERSION"
    lines = True
    rule = "llama.cpp's converter gave no GGUF: {ending}{log}"
    fix = "the directory must hold config.json and safetensors of one of the families"


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
