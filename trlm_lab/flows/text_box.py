"""A box in Jupyter in which a person types, and sees every stage and every engine at once."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trlm_lab.base import strict_json
from trlm_lab.errors import MissingPackageError, TrlmError
from trlm_lab.flows.text_views import StageView, side_by_side
from trlm_lab.text import read_tokenizer


def text_box(path: Path, engines: Sequence[str], text: str) -> Any:
    """A widget: a line to type in, the stages of the reference, the engines side by side.

    Raises:
        MissingPackageError: `ipywidgets` is not installed.
    """
    try:
        import ipywidgets
    except ImportError as error:
        raise MissingPackageError(package="ipywidgets", extra="notebooks") from error
    tokenizer = read_tokenizer(strict_json.load_object(path))
    line = ipywidgets.Textarea(value=text, description="text", rows=3)
    line.layout.width = "100%"
    shown = ipywidgets.HTML()

    def show(change: Any = None) -> None:
        try:
            stages = StageView(tokenizer.encode(line.value, trace=True))
            engines_seen = side_by_side(path, line.value, engines)
            shown.value = stages._repr_html_() + engines_seen._repr_html_()
        except TrlmError as error:
            shown.value = f"<pre>{html.escape(f'{error.code}: {error.text}')}</pre>"

    line.observe(show, names="value")
    show()
    return ipywidgets.VBox([line, shown])
