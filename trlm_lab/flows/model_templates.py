"""Which chat template is the model's: one choice for receipts, packing, compiling and rendering."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trlm_lab.acquire.gguf_file import read_gguf
from trlm_lab.base.plain_file import open_plain, read_plain
from trlm_lab.describe import (
    DeclaredTemplate,
    only_template,
    template_at,
    templates_of_directory,
    templates_of_file,
    templates_of_keys,
)
from trlm_lab.errors import PathMissingError, TemplateSourceError


def chosen_place(receipt: dict[str, Any]) -> str | None:
    """Where the template stands that is run, in the map of a conflict receipt."""
    found = [row["chosen"] for row in receipt["evidence"] if row["field"] == "chat_template"]
    return None if not found or found[0] is None else str(found[0])


def chosen_template(root: Path, receipt: dict[str, Any]) -> DeclaredTemplate | None:
    """The template of a described source, as its receipt chose it."""
    place = chosen_place(receipt)
    return None if place is None else template_at(root, place)


def declared_template(path: Path) -> DeclaredTemplate | None:
    """The template of a model directory, a GGUF file or a JSON file of a model, by the same rule.

    Raises:
        TemplateSourceError: a declared template cannot be read.
        ConflictError: they are different texts.
        GgufError, JsonError, JsonDuplicateKeyError: the file is none.
    """
    if path.is_dir():
        return only_template(templates_of_directory(path))
    if path.suffix == ".json":
        return only_template(templates_of_file(path))
    keys = {name: field.value for name, field in read_gguf(path).fields.items()}
    return only_template(templates_of_keys(path.name, "", keys))


def template_source(path: Path) -> tuple[bytes, str]:
    """Bytes and name of a template: of a Jinja file, or of whatever else declares one.

    Raises:
        PathMissingError: nothing is there.
        TemplateSourceError: nothing there declares a template; and as `declared_template`.
    """
    if not path.exists():
        raise PathMissingError(where=str(path))
    if not path.is_dir() and path.suffix != ".json" and not _is_gguf(path):
        return read_plain(path), path.name
    found = declared_template(path)
    if found is None:
        raise TemplateSourceError(where=str(path), detail="no chat template is declared here")
    return template_bytes(found), found.place


def template_bytes(template: DeclaredTemplate) -> bytes:
    """The source as bytes; half surrogates of a JSON text stay, and whoever reads refuses them."""
    return template.text.encode("utf-8", "surrogatepass")


def _is_gguf(path: Path) -> bool:
    with open_plain(path) as stream:
        return stream.read(4) == b"GGUF"
