"""Random sound cases give the same bytes again in every reader; random damage the same answer."""

import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.golden.conftest import READERS, lay
from tests.golden.emit import emit
from tests.golden.readers import Answer, GoldenReader
from tests.golden.sound import Draft, observation, sound
from trlm_lab.base import canon

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

Named = Callable[[str], GoldenReader]

#: Anything that the encoding allows, as values of `x_` keys.
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**64), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.floats(allow_nan=False, allow_infinity=False, width=16),
    st.text(max_size=30),
    st.binary(max_size=30),
)
keys = st.text(max_size=8)
anything = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
extras = st.dictionaries(st.text(max_size=6).map(lambda text: f"x_{text}"), anything, max_size=3)
uints = st.integers(0, 2**64 - 1)


@st.composite
def drafts(draw: st.DrawFn) -> Draft:
    """A sound case of any class, kind, number of observations and `x_` keys."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    draft = sound(rng)
    document: dict[str, Any] = draft.document
    names = draw(st.lists(st.text(min_size=1, max_size=20), unique=True, max_size=5))
    shapes = st.lists(st.integers(0, 4), max_size=3)
    draft.files.clear()
    document["observations"] = [
        observation(rng, name, draw(shapes), draft.files) | draw(extras) for name in names
    ]
    document["top_k"] = [
        {"id": draw(uints), "logit_bits": rng.randbytes(4)} | draw(extras) for _ in names
    ]
    document["input"] |= draw(extras)
    for key in ("expected_tokens", "raw_output_commitment"):
        if draw(st.booleans()):
            del document[key]
    return Draft(document | draw(extras), draft.files)


def answers(named: Named, data: bytes, draft: Draft) -> dict[str, Answer]:
    with tempfile.TemporaryDirectory() as scratch:
        root = lay(Path(scratch) / "case", data, draft)
        return {name: named(name).answer(root) for name in READERS}


@settings(max_examples=40)
@given(draft=drafts())
def test_the_same_bytes_again(reader_named: Named, draft: Draft) -> None:
    data = canon.encode(draft.document)
    assert data == emit(draft.document)[0]
    wanted = Answer((), (), canon.sha256_hex(data))
    assert answers(reader_named, data, draft) == dict.fromkeys(READERS, wanted)


@settings(max_examples=100)
@given(
    seed=st.integers(0, 2**32),
    places=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=3),
    cut=st.none() | st.floats(0, 1, exclude_max=True),
)
@example(seed=0, places=[(0.0, 0x18)], cut=None)
def test_damage_gives_one_answer(
    reader_named: Named, seed: int, places: list[tuple[float, int]], cut: float | None
) -> None:
    draft = sound(random.Random(seed))
    data = bytearray(canon.encode(draft.document))
    for place, byte in places:
        data[int(place * len(data))] = byte
    if cut is not None:
        del data[int(cut * len(data)) :]
    found = answers(reader_named, bytes(data), draft)
    assert len(set(found.values())) == 1, found


@settings(max_examples=100)
@given(data=st.binary(max_size=40))
def test_noise_gives_one_answer(reader_named: Named, data: bytes) -> None:
    found = answers(reader_named, data, Draft(None))
    assert len(set(found.values())) == 1, found


@pytest.mark.parametrize("reader", READERS)
def test_strangers_are_noted(reader_named: Named, reader: str, tmp_path: Path) -> None:
    draft = sound(random.Random(1))
    root = lay(tmp_path / "case", canon.encode(draft.document), draft)
    for name in ("notes.txt", "blobs/.hidden", "blobs/" + "0" * 64):
        (root / name).write_text("?")
    answer = reader_named(reader).answer(root)
    assert answer.findings == ()
    strangers = ["blobs/.hidden", "blobs/" + "0" * 64, "notes.txt"]
    assert answer.notes == tuple(("GOLDEN_FOREIGN", name) for name in strangers)
