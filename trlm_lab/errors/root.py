"""The root of all errors, and the four kinds that decide the exit status."""

from __future__ import annotations

from string import Formatter
from typing import Any, ClassVar

#: Characters of what an error quotes from its input; the rest says how many there were.
LONGEST = 2000


def one_line(text: str) -> str:
    """`text` as one line for a terminal: what no terminal shows as it is becomes its escape.

    Names, keys and values of an input stand in messages; an escape sequence in them could
    overwrite what was said, and a line end could say what was not.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _clipped(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST // 2]} … ({len(text)} characters) … {text[-LONGEST // 4 :]}"


class TrlmError(Exception):
    """Root of all errors. `where` is the place: a file, tensor, field, byte offset or index.

    Subclasses set `code` (stable, upper case), `rule` and `fix` (format strings over the facts)
    and `exit_status` (of the command line). Facts are kept as attributes in `facts`. `lines` is set
    where the detail ends with the last words of another program, whose lines stay lines.
    """

    code: ClassVar[str] = "TRLM"
    rule: ClassVar[str] = "{detail}"
    fix: ClassVar[str] = ""
    exit_status: ClassVar[int] = 3
    lines: ClassVar[bool] = False

    def __init__(self, *, where: str = "", **facts: Any) -> None:
        wanted = {name for _, name, _, _ in Formatter().parse(self.rule + self.fix) if name}
        missing = wanted - set(facts)
        if missing:
            raise TypeError(f"{type(self).__name__} lacks the facts {sorted(missing)}")
        self.where = where
        self.facts = facts
        super().__init__(self.text)

    @property
    def detail(self) -> str:
        """The broken rule with the facts filled in, the middle left out where they are long."""
        said = self.rule.format(**self.facts)
        return said if self.lines else _clipped(said)

    @property
    def remedy(self) -> str:
        """The likely fix with the facts filled in; empty where none is known."""
        return self.fix.format(**self.facts)

    @property
    def text(self) -> str:
        """One line (but see `lines`): code, place, rule, fix."""
        place = f" at {_clipped(self.where)}" if self.where else ""
        remedy = f" Fix: {self.remedy}" if self.fix else ""
        said = f"{self.code}{place}: {self.detail}.{remedy}"
        return "\n".join(map(one_line, said.split("\n"))) if self.lines else one_line(said)

    def as_finding(self) -> dict[str, str]:
        """The machine-readable form that `trlm check` prints."""
        return {"code": self.code, "where": self.where, "detail": self.detail, "fix": self.remedy}


class Refused(TrlmError):
    """Input that breaks a rule (exit status 3)."""

    code = "REFUSED"


class UsageError(TrlmError):
    """A wrong call by the user (exit status 2)."""

    code = "USAGE"
    exit_status = 2


class InfrastructureError(TrlmError):
    """A missing engine, a lost device, a time limit (exit status 4)."""

    code = "INFRA"
    exit_status = 4


class ClaimFailed(TrlmError):
    """A claim does not hold (exit status 1)."""

    code = "CLAIM_FAILED"
    exit_status = 1
