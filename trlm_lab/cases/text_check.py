"""Whether the ids of text cases are still what the model's own tokenizer makes of the texts."""

from __future__ import annotations

from pathlib import Path

from trlm_lab.base.records import CaseSuite
from trlm_lab.errors import MissingPackageError, TextCaseError, TokenizerFileError


def check_text_cases(suite: CaseSuite, tokenizer_path: Path) -> int:
    """Re-encode every text case; returns how many there were.

    Raises:
        TextCaseError: a text gives other ids; the first differing index is named.
        TokenizerFileError: the tokenizer file cannot be read.
        MissingPackageError: the tokenizers library is not installed.
    """
    texts = [case for case in suite.cases if case.text is not None]
    if not texts:
        return 0
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingPackageError(package="tokenizers", extra="oracle") from error
    try:
        tokenizer = Tokenizer.from_file(str(tokenizer_path))
    except Exception as error:
        # The library raises bare Exceptions for unreadable and for malformed files.
        raise TokenizerFileError(where=tokenizer_path.name, detail=str(error)) from error
    for case in texts:
        _require_same(suite.name, case.case_id, tokenizer.encode(case.text).ids, case.token_ids)
    return len(texts)


def _require_same(suite: str, case_id: str, got: list[int], stored: tuple[int, ...]) -> None:
    if tuple(got) == stored:
        return
    longest = max(len(got), len(stored))
    at = next(i for i in range(longest) if got[i : i + 1] != list(stored[i : i + 1]))
    raise TextCaseError(
        where=f"suite {suite}, case {case_id}", index=at, got=got[at : at + 4],
        stored=list(stored[at : at + 4]),
    )  # fmt: skip
