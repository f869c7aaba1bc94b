"""The page on the C ABI lists what the sources have, and where `unsafe` may stand."""

import re

from tests.backends.runtime_rules import RULES
from trlm_lab.backends.runtime_source import CRATE

REPOSITORY = CRATE.parent


def test_the_document_lists_the_codes_of_the_source() -> None:
    source = (CRATE / "src" / "error.rs").read_text()
    rows = re.findall(r'= (\d+), "(\w+)", "([^"]+)"', source)
    document = (REPOSITORY / "docs" / "abi.md").read_text()
    assert rows == re.findall(r"^\| (\d+) \| (\w+) \| (.+) \|$", document, re.MULTILINE)
    covered = {rule[0] for rule in RULES}
    assert {name for number, name, _ in rows if int(number) < 200} - covered == {
        "HASH",
        # Of SLM1, see test_slm1_runtime.
        "CHECKSUM",
        "CHECKSUM_PROFILE",
        "NONFINITE",
        # Of residuals, see test_block_formats.
        "INDEX",
    }


def test_the_document_lists_the_exports() -> None:
    sources = (CRATE / "src" / "abi").glob("*.rs")
    exports = {
        name
        for path in sources
        for name in re.findall(r'extern "C" fn (trlm_\w+)', path.read_text())
    }
    from trlm_lab.backends.abi_host import SIGNATURES

    document = (REPOSITORY / "docs" / "abi.md").read_text()
    assert exports == set(SIGNATURES)
    assert exports <= set(re.findall(r"trlm_\w+", document))


def test_unsafe_stands_in_the_abi_and_in_the_choice_of_registers_alone() -> None:
    using = {
        path.relative_to(CRATE / "src")
        for path in (CRATE / "src").rglob("*.rs")
        if re.search(r"\bunsafe\s*(\{|fn|impl|extern)", path.read_text())
    }
    assert {path.as_posix() for path in using if path.parent.name != "abi"} == {"ops/widths.rs"}
