"""The tokenizer section: TOK2 by the inspector's own tables, in an artifact or alone."""

import pytest

from tests.text.tok2.blocks import NAMES, compiled, resealed
from trlm_lab.base.records import Inspection
from trlm_lab.errors import Tok2Error
from trlm_lab.inspector import inspect_bytes
from trlm_lab.text.tok2 import read_tok2
from trlm_lab.text.tok2.frame import read_frame

from .conftest import built


def inspected(data: bytes) -> Inspection:
    return inspect_bytes(memoryview(data))


@pytest.mark.parametrize("name", NAMES)
def test_rows_agree_with_the_other_reader(name: str) -> None:
    block = compiled(name)
    found, frame = inspected(block), read_frame(memoryview(block))
    assert (found.format, found.findings) == ("TOK2", ())
    assert [h.name for h in found.hashes if h.holds] == ["tokenizer", "template"]
    values = {f.name: (f.offset, f.value) for f in found.tokenizer}
    for field in ("token_count", "id_limit", "merge_count", "added_count", "model_kind", "flags"):
        assert values[field][1] == getattr(frame.header, field)
    assert values["self_sha256"][1] == frame.header.self_sha256.hex()
    for section, (view, offset) in frame.sections.items():
        assert values[f"section {section}"] == (offset, len(view))


def test_inside_an_artifact() -> None:
    block = compiled(NAMES[0])
    found = inspected(built(tokenizer=block))
    assert found.findings == ()
    assert {h.name for h in found.hashes} >= {"tokenizer", "template", "self"}
    magic = found.tokenizer[0]
    assert (magic.name, magic.value) == ("magic", "TOK2")
    assert magic.offset == next(f.value for f in found.header if f.name == "tokenizer_off")
    assert found.to_map()["tokenizer"][0] == ["magic", magic.offset, 4, "TOK2"]


def test_other_sections_are_not_looked_into() -> None:
    for data in (b"", b"{}", b"tokenizer bytes"):
        found = inspected(built(tokenizer=data))
        assert (found.tokenizer, found.findings) == ((), ())


def test_every_changed_byte_of_the_frame_is_found() -> None:
    """Sealed or not: what breaks the frame for one reader breaks it for the other."""
    block = compiled(NAMES[2])
    for at in range(352):
        changed = bytearray(block)
        changed[at] ^= 0x41
        assert inspected(bytes(changed)).findings
        sealed = resealed(bytes(changed))
        try:
            read_tok2(sealed)
            refused = False
        except Tok2Error as error:
            refused = int(error.where.removeprefix("byte ")) < 352
        # Counts are held against sections by the reader alone.
        if refused and at not in range(28, 48):
            assert inspected(sealed).findings, at


@pytest.mark.parametrize("length", [4, 200, 351])
def test_cut_blocks(length: int) -> None:
    found = inspected(compiled(NAMES[0])[:length])
    assert [f.code for f in found.findings] == ["TOKENIZER"]
    inside = inspected(built(tokenizer=compiled(NAMES[0])[:length]))
    assert [f.code for f in inside.findings] == ["TOKENIZER"]
