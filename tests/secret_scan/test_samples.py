"""Every made-up secret is found, every innocent is quiet, and the page counts both."""

from pathlib import Path

import pytest

from tests.secret_scan.samples import INNOCENTS, PLAIN, SECRETS, WORD
from trlm_lab.secret_scan import scan_bytes

PAGE = Path(__file__).parents[2] / "docs" / "secrets.md"


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_found(name: str) -> None:
    found = list(scan_bytes(SECRETS[name], where="t"))
    assert found
    assert not any(secret in str(f) for f in found for secret in (PLAIN, WORD))


@pytest.mark.parametrize("name", INNOCENTS)
def test_an_innocent_is_quiet(name: str) -> None:
    assert [(f.rule, f.hint) for f in scan_bytes(INNOCENTS[name], where="t")] == []


def test_the_page_counts_the_samples() -> None:
    said = f"{len(SECRETS)} made-up secrets, all found, and {len(INNOCENTS)} innocents, all quiet"
    assert said in PAGE.read_text()


def test_a_pair_is_reported_once_and_at_its_value() -> None:
    (found,) = scan_bytes(SECRETS["user and password in JSON"], where="t")
    assert (found.rule, found.where) == ("Named Secret", "t/password")


def test_a_named_value_that_another_rule_finds_is_one_finding() -> None:
    (found,) = scan_bytes(b'{"github_token": "ghp_%s"}' % (b"k7Qz2mXw9R" * 4)[:36], where="t")
    assert found.rule == "GitHub Token"
