"""docs/cli.md and the command tree say the same: every command with its options, and no other."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from trlm_lab.flows.cli.app import app
from trlm_lab.flows.cli.evidence import ACTIONS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text()
#: Options of every command, which the page explains once.
EVERYWHERE = {"--json", "--help"}
#: What one word stands for in the rows.
REVIEWED = ("--resolution", "--licence-decision", "--tree-profile")


def tree(command: Any, name: str) -> Iterator[tuple[str, set[str]]]:
    """(name, long options) of every command below `command`."""
    below = getattr(command, "commands", None)
    if below:
        for word, inner in below.items():
            yield from tree(inner, f"{name} {word}")
    else:
        options = {o for p in command.params for o in p.opts if o.startswith("--")}
        yield name, options - EVERYWHERE


COMMANDS = dict(tree(typer.main.get_command(app), "trlm"))


def named(text: str) -> str:
    """The command that a text beginning with `trlm` names, or the words that are none."""
    words = text.split()
    longest = next((" ".join(words[:n]) for n in (3, 2) if " ".join(words[:n]) in COMMANDS), "")
    return longest or " ".join(words[:2])


def rows() -> Iterator[tuple[str, str]]:
    """(command, first cell) of every command in the first column of the page's tables."""
    for line in PAGE.splitlines():
        cell = re.split(r"(?<!\\)\|", line)[1] if line.startswith("| `trlm ") else ""
        for text in re.findall(r"`(trlm [^`]*)`", cell):
            yield named(text), text


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_stands_there_with_every_option(command: str) -> None:
    texts = [text for name, text in rows() if name == command]
    assert texts, f"{command} has no row"
    spelled = " ".join(texts).replace("REVIEWED", " ".join(REVIEWED))
    assert set(re.findall(r"--[a-z][a-z-]*", spelled)) == COMMANDS[command]


def test_every_action_of_receipts_stands_there() -> None:
    shown = {text.split()[2] for name, text in rows() if name == "trlm receipts"}
    assert shown == set(ACTIONS)


def test_no_command_is_named_that_does_not_exist() -> None:
    texts = re.findall(r"`(trlm [a-z][^`]*)`", PAGE)
    assert {named(text) for text in texts} - set(COMMANDS) == set()


def test_no_option_is_named_that_no_command_has() -> None:
    known = EVERYWHERE.union(*COMMANDS.values())
    assert set(re.findall(r"--[a-z][a-z-]*", PAGE)) - known == set()
