"""Errors of the two tokenizer sections of SLM1: BTOK and BPE1."""

from __future__ import annotations

from trlm_lab.errors.root import Refused


class BtokError(Refused):
    """A BTOK section that breaks a rule; `where` is the byte offset of the field."""

    code = "BTOK"
    rule = "{field} is {got}, expected {expected}"
    fix = "fetch the file again, or write the section with this library"


class Bpe1Error(Refused):
    """A BPE1 section that breaks a rule; `where` is the byte offset of the field."""

    code = "BPE1"
    rule = "{field} is {got}, expected {expected}"
    fix = "fetch the file again, or write the section with this library"
