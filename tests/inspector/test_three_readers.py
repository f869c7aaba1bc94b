"""Three readers of `.slm` files name the same rule of damaged files whose hashes hold again.

Ten thousand of them: `tools/fuzz/agreement.py`, results in docs/fuzzing.md.
"""

from typing import Any

import pytest

from trlm_lab.backends.build_native import built, wanted_build
from trlm_lab.backends.native import NativeHost, NativeRunner
from trlm_lab.errors import SlmModelError
from trlm_lab.slm.layout import HEADER
from trlm_lab.slm.model import check_model, effective_config
from trlm_lab.slm.read import open_slm
from trlm_lab.testing.container_agreement import judge
from trlm_lab.testing.container_judges import (
    SLM1_RULES,
    SLM2_RULES,
    by_inspector,
    by_python,
    by_runtime,
)
from trlm_lab.testing.container_lies import LIES
from trlm_lab.testing.container_sealing import sealed
from trlm_lab.testing.slm1_lies import KINDS
from trlm_lab.testing.sound_containers import RECIPES, SLM1_FILES, slm1_file, slm2_file

SOUND = [*map(slm2_file, RECIPES), *map(slm1_file, SLM1_FILES)]


@pytest.fixture(scope="module")
def host(require: Any) -> NativeHost:
    require(NativeRunner())
    return NativeHost(built(wanted_build(())))


def test_sound_files_are_accepted_by_all_and_sealing_changes_nothing(host: NativeHost) -> None:
    for data in SOUND:
        assert sealed(data) == data
        assert (by_python(data), set(by_inspector(data)), by_runtime(host, data)) == ("", set(), "")


def test_the_three_name_the_same_rule(host: NativeHost) -> None:
    tally = judge(host, range(300), seed=7)
    assert tally.apart == []
    assert tally.sealed > 210
    assert tally.accepted > 10
    assert len(tally.rules) > 30


def test_a_difference_would_be_seen(host: NativeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SLM2_RULES, "RESERVED", "SLM_RANGE")
    assert judge(host, range(120), seed=7).apart


def test_files_depend_on_seed_and_number_alone(host: NativeHost) -> None:
    assert judge(host, range(20), seed=3).digest == judge(host, range(20), seed=3).digest
    assert judge(host, range(20), seed=3).digest != judge(host, range(20), seed=4).digest


def test_every_lie_changes_its_files(host: NativeHost) -> None:
    """Ten files of each kind, from those that are suited: none is left as it was by all ten."""
    from random import Random

    from trlm_lab.testing.container_lies import lied
    from trlm_lab.testing.slm1_lies import slm1_lied

    for kind in LIES:
        files = [slm2_file("rich"), slm2_file("compiled")]
        assert any(lied(f, Random(i), kind) != f for f in files for i in range(10)), kind
    for kind in KINDS:
        files = [slm1_file("f32-btok"), slm1_file("q4_0-bpe1")]
        assert any(slm1_lied(f, Random(i), kind) != f for f in files for i in range(10)), kind


def test_memory_stays_below_its_bound(host: NativeHost) -> None:
    assert judge(host, range(60), seed=5, memory=True).most_memory < 1


@pytest.mark.parametrize(
    ("shift", "code"), [(4, "SLM_ALIGNMENT"), (1 << 40, "SLM_RANGE"), (-(1 << 12), "SLM_RANGE")]
)
def test_a_residual_out_of_place_is_named(shift: int, code: str) -> None:
    """Its header is read where its data are said to be; the place itself is wrong."""
    data = bytearray(slm2_file("residual-f16"))
    slm = open_slm(bytes(data))
    index = next(i for i, t in enumerate(slm.tensors) if t.residual_of)
    place = slm.header.tensor_dir_off + 128 * index + 56
    moved = slm.tensors[index].descriptor.data_off + shift
    data[place : place + 8] = moved.to_bytes(8, "little")
    bad = sealed(bytes(data))
    assert by_python(bad) == code
    assert code in by_inspector(bad)


def test_tensors_of_another_model_are_refused() -> None:
    data = bytearray(slm2_file("f32"))
    at = HEADER.unpack(memoryview(data), 0)["string_table_off"]
    place = data.index(b"q_proj", at)
    data[place] = ord("r")
    slm = open_slm(sealed(bytes(data)))
    with pytest.raises(SlmModelError) as caught:
        check_model(slm, effective_config(slm))
    assert "self_attn.r_proj" in caught.value.detail


def test_rules_of_the_runtime_are_rules_of_the_pages() -> None:
    from pathlib import Path

    pages = Path(__file__).parents[2] / "docs" / "formats"
    for page, rules in (("slm2.md", SLM2_RULES), ("slm1.md", SLM1_RULES)):
        text = (pages / page).read_text()
        assert [rule for rule in rules.values() if rule not in text] == []
