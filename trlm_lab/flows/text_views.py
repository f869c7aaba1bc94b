"""How a notebook shows a tokenizer at work: stages as coloured spans, bytes, engines in a row."""

from __future__ import annotations

import html
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from trlm_lab.errors import TrlmError
from trlm_lab.flows.tables import Table
from trlm_lab.flows.tokenizer_engines import Request, tokenizer_opened
from trlm_lab.text import Encoding, Tokenizer
from trlm_lab.text.added_tokens import AddedToken
from trlm_lab.text.coordinates import Span

#: Light grounds that differ in lightness too; the text on them is always dark.
_GROUNDS = ("#cfe3f7", "#fde2b3", "#d5efcf", "#f6cfd8", "#e3d9f4", "#f4f1b8")
_CHIP = (
    "color:#111;padding:1px 3px;margin:1px;border-radius:3px;"
    "display:inline-block;white-space:pre-wrap"
)
_LETTER = {" ": "·", "\n": "⏎", "\r": "␍", "\t": "⇥", "\x00": "␀"}
_HIDDEN = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp", "Zs")


def visible(text: str) -> str:
    """A text in which white space, controls and marks without width can be seen."""
    return "".join(_LETTER.get(one) or _shown(one) for one in text)


def _shown(scalar: str) -> str:
    hidden = unicodedata.category(scalar) in _HIDDEN
    return f"⟨{ord(scalar):04X}⟩" if hidden else scalar


def chip(text: str, number: int, title: str) -> str:
    """One span on the ground of its number."""
    ground = _GROUNDS[number % len(_GROUNDS)]
    shown = html.escape(visible(text)) or "&nbsp;"
    return (
        f"<span style='background:{ground};{_CHIP}' title='{html.escape(title, quote=True)}'>"
        f"{shown}</span>"
    )


class StageView:
    """The pieces after each stage, one row a stage; then the bytes that each token stands for."""

    def __init__(self, found: Encoding) -> None:
        self.found = found

    def _repr_html_(self) -> str:
        rows = [_row("given text", "", chip(self.found.text, 0, _bytes_of(self.found.text)))]
        for stage in self.found.stage_rows()[1:]:
            chips = (chip(one["text"], i, _title(one)) for i, one in enumerate(stage["pieces"]))
            rows.append(_row(stage["kind"], stage["stage"], "".join(chips)))
        rows.append(_row("bytes", "of the given text, by token", self._bytes()))
        return f"<table>{''.join(rows)}</table>"

    def _bytes(self) -> str:
        data = self.found.text.encode()
        offsets = self.found.offsets()
        parts = []
        for i, (token, (start, end)) in enumerate(zip(self.found.tokens, offsets, strict=True)):
            title = f"id {token.id}, bytes {start} to {end}"
            parts.append(chip(data[start:end].hex(" ") or "inserted", i, title))
        return "".join(parts)

    def __repr__(self) -> str:
        lines = [
            f"{stage['kind']}: " + " | ".join(visible(one["text"]) for one in stage["pieces"])
            for stage in self.found.stage_rows()
        ]
        return "\n".join(lines)


def _row(kind: str, pointer: str, chips: str) -> str:
    """A table row: what the stage is, where it is declared, its spans."""
    style = "text-align:left;vertical-align:top"
    place = f"<br><small>{html.escape(pointer)}</small>" if pointer else ""
    return (
        f"<tr><th scope='row' style='{style}'>{html.escape(kind)}{place}</th>"
        f"<td style='{style};line-height:1.9'>{chips}</td></tr>"
    )


def _title(piece: dict[str, Any]) -> str:
    start, end = piece["offsets"]
    named = f"id {piece['id']}, " if "id" in piece else ""
    return f"{named}bytes {start} to {end}; {_bytes_of(piece['text'])}"


def _bytes_of(text: str) -> str:
    return text.encode(errors="surrogatepass").hex(" ")


def side_by_side(path: Path, text: str, engines: Sequence[str]) -> Table:
    """Ids and offsets of each engine; the first is what the others are held against."""
    rows: list[dict[str, Any]] = []
    first: tuple[list[int], list[Span]] | None = None
    for engine in engines:
        try:
            with tokenizer_opened(path, engine) as opened:
                row = opened.tokenize(Request(text))
        except TrlmError as error:
            rows.append({"engine": engine, "same": None, "tokens": None, "ids": error.text})
            continue
        got = row["ids"], row["offsets"]
        first = got if first is None else first
        offsets = " ".join(f"{start}–{end}" for start, end in row["offsets"])
        rows.append(
            {
                "engine": engine,
                "same": "yes" if got == first else "NO",
                "tokens": len(row["ids"]),
                "ids": " ".join(map(str, row["ids"])),
                "byte offsets": offsets,
            }
        )
    return Table(rows)


def decoded_rows(path: Path, engine: str, ids: Sequence[int]) -> list[dict[str, Any]]:
    """The ids turned back in every mode; white space and controls are written out."""
    rows = []
    with tokenizer_opened(path, engine) as opened:
        for mode in ("raw", "visible", "diagnostic"):
            row = opened.decode(list(ids), mode)
            rows.append({"mode": mode, **row, "text": visible(str(row.get("text", "")))})
    return rows


def component_rows(tokenizer: Tokenizer) -> list[dict[str, Any]]:
    """Every component in the order in which a text meets it, and where the file declares it."""
    added = Counter(flag for one in tokenizer.added for flag in _flags(one))
    flags = ", ".join(f"{count} {flag}" for flag, count in sorted(added.items()))
    rows = [{"part": "added tokens", "kind": f"{len(tokenizer.added)}", "at": flags}]
    for part, stages in (
        ("normalizer", tokenizer.normalizers),
        ("pre-tokenizer", tokenizer.pre_tokenizers),
        ("post-processor", tokenizer.post_processors),
        ("decoder", tokenizer.decoders),
    ):
        rows += [{"part": part, "kind": one.kind, "at": one.pointer} for one in stages]
    model = {"part": "model", "kind": tokenizer.model_kind, "at": "/model"}
    rows.insert(1 + len(tokenizer.normalizers) + len(tokenizer.pre_tokenizers), model)
    return rows


def _flags(token: AddedToken) -> Iterator[str]:
    for flag in ("special", "normalized", "single_word", "lstrip", "rstrip"):
        if getattr(token, flag):
            yield flag


def offset_rows(found: Encoding) -> list[dict[str, Any]]:
    """Each token with its place in four coordinates."""
    units = ("utf8_byte", "scalar", "utf16", "normalized_utf8_byte")
    spans = [found.offsets(unit) for unit in units]
    return [
        {"token": visible(token.text), "id": str(token.id)}
        | {unit: f"{start}–{end}" for unit, (start, end) in zip(units, places, strict=True)}
        for token, *places in zip(found.tokens, *spans, strict=True)
    ]
