"""The committed container and the byte example of the page, in every reader."""

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.golden.conftest import READERS
from tests.golden.readers import GoldenReader
from trlm_lab.flows.golden import vectors_sha256
from trlm_lab.flows.golden_vectors import vector_plans
from trlm_lab.golden import (
    GoldenCase,
    GoldenInput,
    GoldenObservation,
    encode_case,
    read_golden,
    write_golden,
)

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = ROOT / "examples" / "golden" / "llama-small-4"
IDENTITY = b"\x11" * 32

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


@pytest.mark.parametrize("reader", READERS)
def test_the_committed_container_holds(
    reader: str, reader_named: Callable[[str], GoldenReader]
) -> None:
    answer = reader_named(reader).answer(COMMITTED)
    assert (answer.findings, answer.notes) == ((), ())
    assert answer.again == read_golden(COMMITTED).sha256


def test_the_committed_container_is_the_recorded_one() -> None:
    plan = vector_plans()[COMMITTED.name]
    golden = read_golden(COMMITTED)
    assert vectors_sha256(golden) == plan.vectors_sha256
    assert golden.case.input.data_or_commitment == b"".join(
        token.to_bytes(4, "little") for token in plan.token_ids
    )


def test_the_committed_container_is_small() -> None:
    assert sum(p.stat().st_size for p in COMMITTED.rglob("*") if p.is_file()) < 300_000


def test_the_example_of_the_page(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "formats" / "golden.md").read_text()
    example = text[text.index("## Example") :]
    block = re.search(r"```\n([0-9a-f\n]+)```", example)
    assert block is not None
    data = bytes.fromhex(block[1].replace("\n", ""))
    blob = bytes.fromhex("0000803f000000bf")
    digest = hashlib.sha256(blob).digest()
    row = GoldenObservation("embedding", "checkpoint", (1, 2), "f32", digest, IDENTITY)
    case = GoldenCase(
        *(IDENTITY, "public_mechanical", *[IDENTITY] * 5),
        input=GoldenInput("token_ids", b"\x05\0\0\0"),
        observations=(row,),
        top_k=(),
        generator_receipt=IDENTITY,
    )
    assert encode_case(case) == data
    for stated in (
        digest.hex(),
        hashlib.sha256(data).hexdigest(),
        f"{len(data)} bytes",
        blob.hex(),
    ):
        assert stated in example
    golden = write_golden(tmp_path / "example", case, [blob])
    assert golden.case == case
    assert golden.blob(row) == blob
