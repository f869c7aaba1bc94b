"""The stage in which two engines part over a text, as far as they show their stages."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from trlm_lab.errors import TrlmError
from trlm_lab.flows.tokenizer_requests import Request, Row, TokenizerEngine


@dataclass(frozen=True)
class Sides:
    """Who is held against whom; the reference names the stage where the source shows too little."""

    candidate: TokenizerEngine
    source: TokenizerEngine
    reference: TokenizerEngine | None = None

    def first_stage(self, text: str, *, special: bool = False) -> str:
        """The first stage after which the candidate parts from the source, or from the reference.

        A stage of a compiled file or of the reference is named by its JSON pointer and kind, one of
        a library by what the library calls it.
        """
        request = Request(text, add_special_tokens=special, trace=True)
        ours = answer(self.candidate, request)
        if "error" in ours:
            return str(ours["error"])
        for side in (self.source, self.reference):
            theirs = answer(side, request) if side else {}
            if "stages" in ours and "stages" in theirs and (name := parting(ours, theirs)):
                return name
        return self._shown_stage(ours, text) or self._behind(ours, request)

    def _shown_stage(self, ours: Row, text: str) -> str:
        """By what the source's library shows; empty where that is the same."""
        shown = getattr(self.source, "stages", None)
        for name, theirs in shown(text).items() if shown else ():
            mine = _shown(ours, name)
            if None not in (mine, theirs) and mine != theirs:
                return str(name)
        return ""

    def _behind(self, ours: Row, request: Request) -> str:
        theirs = answer(self.source, request)
        if not hasattr(self.source, "stages") and "stages" not in theirs:
            return "unknown: the source shows no stages"
        return "offsets" if ours["ids"] == theirs.get("ids") else "model or added tokens"


def answer(engine: TokenizerEngine, request: Request) -> Row:
    """A row, or `{"error": …}`."""
    try:
        return engine.tokenize(request)
    except TrlmError as error:
        return {"error": error.code}
    except Exception as error:
        # The tokenizers library raises bare Exceptions; the one on a text without token speaks of
        # `unk` or of an unknown token.
        return {"error": "UNKNOWN_TOKEN_MISSING" if "unk" in str(error).lower() else str(error)}


def parting(ours: Row, theirs: Row) -> str:
    """The first of two engines' stages that differs; empty where all are the same."""
    for mine, right in zip_longest(ours["stages"], theirs["stages"]):
        if mine != right:
            named = mine or right
            return f"{named['stage']} ({named['kind']})"
    return next((key for key in ("ids", "offsets") if ours[key] != theirs[key]), "")


def _shown(row: Row, name: str) -> Any:
    """What an engine shows of a library's stage; None if nothing."""
    if name == "normalizer":
        return row.get("normalized")
    cuts = [one for one in row.get("stages", ()) if one["stage"].startswith("/pre_tokenizer")]
    return [piece["text"] for piece in cuts[-1]["pieces"]] if cuts else None
