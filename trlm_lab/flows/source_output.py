"""An output beside a source: nothing is written into what it is made from."""

from __future__ import annotations

from pathlib import Path

from trlm_lab.acquire.sources import parse_source
from trlm_lab.base.output_file import require_output
from trlm_lab.errors import OutputIsInputError


def require_apart(out: Path, spec: str, *inputs: Path) -> None:
    """`out` is a new name or a plain file, no input, and not in the directory that `spec` names.

    However the source is spelled: a directory that gains or loses a file is another source.

    Raises:
        OutputNotPlainError, OutputIsInputError: it is one of these.
        SourceSpecError: no such form of a source.
    """
    pin = parse_source(spec)
    source = Path(pin.locator)
    require_output(out, *inputs, *([source] if pin.scheme == "gguf" else []))
    if pin.scheme == "dir" and out.resolve().is_relative_to(source.resolve()):
        raise OutputIsInputError(where=str(out))
