"""Errors of case files and suites."""

from __future__ import annotations

from trlm_lab.errors.root import Refused


class TextCaseError(Refused):
    """A text case whose stored ids are not what the tokenizer gives."""

    code = "TEXT_CASE"
    rule = "from token {index} on the tokenizer gives {got}, the suite stores {stored}"
    fix = "use the suite with the model it was written for, or store the ids of this tokenizer"


class TokenizerFileError(Refused):
    """A tokenizer.json that the tokenizers library cannot read."""

    code = "TOKENIZER_FILE"
    rule = "the tokenizer cannot be read: {detail}"
    fix = "acquire the model again"
