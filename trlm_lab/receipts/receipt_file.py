"""`receipt.json`: the one file that names the root of a store."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

from trlm_lab.base import strict_json
from trlm_lab.errors import TrlmError
from trlm_lab.receipts.findings import VerifyReport

RECEIPT_FILE = "receipt.json"
RECEIPT_SCHEMA = "trlm.receipt.v1"
#: The accepted spelling has 136 bytes; anything far larger is no receipt and is not read.
LARGEST = 4096

_ID = re.compile(r"[0-9a-f]{64}\Z")


def is_id(value: Any) -> bool:
    """Whether a value is 64 lower-case hex digits, as node and blob names are."""
    return isinstance(value, str) and _ID.match(value) is not None


def receipt_text(conformance_receipt_id: str) -> str:
    """The one accepted spelling of the receipt file."""
    row = {"schema": RECEIPT_SCHEMA, "conformance_receipt_id": conformance_receipt_id}
    return json.dumps(row, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def read_receipt(directory: Path, report: VerifyReport) -> str | None:
    """The root id of `receipt.json`; problems go into the report."""
    path = directory / RECEIPT_FILE
    try:
        mode = path.lstat().st_mode
        if not stat.S_ISREG(mode):
            detail = "it is no regular file"
            report.fail("RECEIPT_MALFORMED", str(path), detail)
            return None
        row = strict_json.load_file(path, where=str(path), limit=LARGEST)
    except FileNotFoundError:
        report.fail("RECEIPT_MISSING", str(path), "the directory holds no receipt file")
        return None
    except (OSError, TrlmError) as error:
        detail = error.detail if isinstance(error, TrlmError) else str(error)
        report.fail("RECEIPT_MALFORMED", str(path), detail)
        return None
    root = row.get("conformance_receipt_id") if isinstance(row, dict) else None
    if not is_id(root):
        report.fail("RECEIPT_MALFORMED", str(path), "conformance_receipt_id is no node id")
        return None
    if path.read_bytes() != receipt_text(str(root)).encode():
        report.fail("RECEIPT_MALFORMED", str(path), "the file is not in its one accepted spelling")
    return str(root)
