"""Every key of a model's `config.json` with its kind and the reason for it, signed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trlm_lab.describe.declarations import read_documents
from trlm_lab.describe.directory_check import check_documents, family_of, unsupported
from trlm_lab.describe.receipt import recordable


def classification(root: Path) -> dict[str, Any]:
    """The schema's name, version and reviewer, and a row for each key: kind, reason, value.

    Raises:
        FamilyUnsupportedError: no schema for this family.
        UnknownFieldError, FieldValueError: a key or value that the schema does not know.
    """
    documents = read_documents(root)
    family = family_of(documents)
    if family is None:
        raise unsupported(documents)
    rows = [
        {"key": f.name, "kind": f.kind.value, "reason": f.reason, "value": recordable(f.value)}
        for f in check_documents(documents, family)
    ]
    schema = family.schema
    return {"schema": schema.name, "version": schema.version, "reviewer": schema.reviewer,
            "fields": rows}  # fmt: skip
