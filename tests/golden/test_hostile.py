"""Every reader refuses every hostile container with the same code at the same place."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.golden.conftest import READERS, lay
from tests.golden.hostile import ROWS, Row, made
from tests.golden.readers import GoldenReader
from trlm_lab.base.canon import sha256_hex
from trlm_lab.errors import golden as golden_errors

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_one_answer(
    row: Row, reader: str, reader_named: Callable[[str], GoldenReader], tmp_path: Path
) -> None:
    hostile = made(row)
    answer = reader_named(reader).answer(lay(tmp_path / "case", hostile.data, hostile.draft))
    wanted = () if hostile.finding is None else (hostile.finding,)
    assert answer.findings == wanted
    blobs_only = row.code is None or row.code.startswith("GOLDEN_BLOB")
    sound_document = blobs_only and hostile.data is not None
    assert answer.again == (sha256_hex(hostile.data or b"") if sound_document else None)


def test_names_are_unique() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)


def test_every_code_of_the_format_has_a_row() -> None:
    codes = {
        found.code
        for found in vars(golden_errors).values()
        if isinstance(found, type) and issubclass(found, golden_errors.GoldenError)
    }
    assert codes - {"GOLDEN"} == {row.code for row in ROWS} - {None}


def test_the_page_lists_every_code() -> None:
    page = Path(__file__).parents[2] / "docs" / "formats" / "golden.md"
    text = page.read_text()
    assert all(f"`{row.code}`" in text for row in ROWS if row.code)
