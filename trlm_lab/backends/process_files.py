"""Looking at files that a stranger wrote: regular files of a bounded size, strict JSON, tensors.

The caller says which error a broken rule becomes, so that a runtime's bad file is an
infrastructure error and a user's bad file a refusal.
"""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trlm_lab.base import strict_json
from trlm_lab.base.safetensors_header import TensorInfo, read_header
from trlm_lab.errors import Refused, TrlmError

#: A request, report, configuration or runner file is a few pages of text.
DOCUMENT_BYTES = 4 << 20
#: A trace of 100 layers has a header of a third of a megabyte.
HEADER_BYTES = 16 << 20

#: Makes the error from the reason.
Refusal = Callable[[str], TrlmError]


def names_file(text: str | Path) -> bool:
    """Whether a text is the path of a file; one too long or ill-formed to be a path is not."""
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False


def require_regular(path: Path, refusal: Refusal) -> int:
    """The size of a regular file; links, pipes, devices and missing files are refused."""
    try:
        status = path.lstat()
    except OSError as error:
        raise refusal(f"cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(status.st_mode):
        raise refusal("is no regular file")
    return status.st_size


def read_object(path: Path, refusal: Refusal) -> dict[str, Any]:
    """A JSON object from a regular file of at most `DOCUMENT_BYTES`."""
    size = require_regular(path, refusal)
    if size > DOCUMENT_BYTES:
        raise refusal(f"has {size} bytes, at most {DOCUMENT_BYTES} are read")
    try:
        return strict_json.load_object(path)
    except Refused as error:
        raise refusal(error.detail) from error


def read_tensor_header(path: Path, refusal: Refusal) -> tuple[TensorInfo, ...]:
    """The tensors of a safetensors file, in the order of their bytes, structurally sound."""
    require_regular(path, refusal)
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
    if length > HEADER_BYTES:
        raise refusal(f"declares a header of {length} bytes, at most {HEADER_BYTES} are read")
    try:
        return read_header(path)
    except Refused as error:
        raise refusal(f"{error.code}: {error.detail}") from error
