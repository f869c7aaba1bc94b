"""The text of a model card, bounded, and its regions: front matter, code, prose."""

from __future__ import annotations

import codecs
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from trlm_lab.base.document_names import is_card
from trlm_lab.base.plain_file import open_plain

MAX_BYTES = 4 << 20

#: A fence may stand in a list or a quotation. Source: CommonMark 0.31, fenced code blocks.
_FENCE = re.compile(r"^[ \t>]{0,40}(`{3,40}|~{3,40})([^\n]*)$", re.M)
_FRONT_END = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.M)
_INLINE = re.compile(r"(?<!`)`{1,2}([^`\n]{1,400})`")

CODE, PROSE = "code", "prose"


@dataclass(frozen=True)
class CardText:
    """A card as text, what was wrong with its bytes, and the SHA-256 of those that were read."""

    name: str
    text: str
    problem: str = ""
    sha256: str = ""


@dataclass(frozen=True)
class Region:
    """Characters `start` to `end` of a card; `kind` is `code` or `prose`."""

    start: int
    end: int
    kind: str


def card_paths(root: Path) -> list[Path]:
    """Every file of the directory that is a card by its name, `README.md` first."""
    found = [path for path in root.iterdir() if is_card(path.name)]
    return sorted(found, key=lambda path: (path.name != "README.md", path.name))


def read_card_text(path: Path) -> CardText:
    """The first 4 MiB of a card; ill-formed bytes are replaced, and said.

    Raises:
        NotPlainFileError: the card is a pipe, device or directory.
    """
    with open_plain(path) as stream:
        data = stream.read(MAX_BYTES + 1)
    longer = len(data) > MAX_BYTES
    problem = f"longer than {MAX_BYTES} bytes; the rest is not compared" if longer else ""
    text, wrong = _decoded(data[:MAX_BYTES], cut=longer)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    digest = hashlib.sha256(data).hexdigest()
    return CardText(path.name, text, "; ".join(filter(None, (problem, wrong))), digest)


def _decoded(data: bytes, *, cut: bool) -> tuple[str, str]:
    decoder = codecs.getincrementaldecoder("utf-8")
    try:
        return decoder().decode(data, final=not cut), ""
    except UnicodeDecodeError as error:
        detail = f"ill-formed UTF-8 at byte {error.start}, replaced before it is compared"
        return decoder("replace").decode(data, final=not cut), detail


def front_matter(text: str) -> tuple[int, int]:
    """Start and end of the YAML at the top; an empty range where there is none."""
    if not text.startswith("---\n"):
        return 0, 0
    end = _FRONT_END.search(text, 4)
    return (4, end.start()) if end else (0, 0)


def regions(text: str, start: int) -> list[Region]:
    """Fenced blocks and what lies between; an unclosed block runs to the end."""
    found: list[Region] = []
    opened: str | None = None
    for match in _FENCE.finditer(text, start):
        fence, rest = match[1], match[2].strip()
        if opened is None:
            if fence[0] in rest:
                continue  # A line such as ```code``` is inline code.
            found.append(Region(start, match.start(), PROSE))
            opened, start = fence, match.end()
        elif fence.startswith(opened) and not rest:
            found.append(Region(start, match.start(), CODE))
            opened, start = None, match.end()
    found.append(Region(start, len(text), PROSE if opened is None else CODE))
    return [part for part in found if part.end - part.start > 1]


def inline_code(text: str, prose: Region) -> list[Region]:
    """The inline code of a stretch of prose, without its ticks."""
    spans = (match.span(1) for match in _INLINE.finditer(text, prose.start, prose.end))
    return [Region(start, end, CODE) for start, end in spans]
