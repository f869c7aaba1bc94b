"""The runner page as a person uses it: pick a golden directory, read the verdict."""

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.golden.readers import PageReader

COMMITTED = Path(__file__).resolve().parents[2] / "examples" / "golden" / "llama-small-4"

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


def test_a_sound_directory(golden_page: PageReader) -> None:
    page = golden_page.page
    page.get_by_label("Golden directory").set_input_files(COMMITTED)
    expect(page.locator("#golden-status")).to_have_text(
        "Accepted: 82 observations, every hash holds, encoded again to the same bytes."
    )
    rows = page.locator("#golden-observations tbody tr")
    expect(rows).to_have_count(82)
    expect(rows.nth(1)).to_contain_text("embedding")
    expect(page.locator("#golden-findings")).to_be_hidden()


def test_a_damaged_directory(golden_page: PageReader, tmp_path: Path) -> None:
    copy = shutil.copytree(COMMITTED, tmp_path / "copy")
    victim = min((copy / "blobs").iterdir())
    data = bytearray(victim.read_bytes())
    data[0] ^= 1
    victim.write_bytes(data)
    page = golden_page.page
    page.get_by_label("Golden directory").set_input_files(copy)
    expect(page.locator("#golden-status")).to_have_text("Refused.")
    row = page.locator("#golden-findings tbody tr")
    expect(row).to_contain_text("GOLDEN_BLOB_HASH")
    expect(row).to_contain_text(f"blobs/{victim.name}")
