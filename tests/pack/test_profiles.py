"""Quantization profiles: complete, hashed, and what the code does."""

import pytest

from trlm_lab.errors import UnknownNameError
from trlm_lab.pack import quant_profile, quant_profile_id
from trlm_lab.pack.profiles import PROFILES
from trlm_lab.quant import q8_r128

#: One key or more for every item of the conformance standard's list.
LISTED = {
    "scope", "code_domain", "bits", "group", "block", "scaling", "zero_point", "scale_dtype",
    "zero_point_dtype", "clipping", "codebook", "rounding", "saturation", "nonfinite",
    "bit_order", "endianness", "tail", "dequantization", "repacking",
}  # fmt: skip

#: A changed profile is a new profile: these ids change only together with `version`.
IDS = {
    "f32": (1, "65b19421624efcc0351ca97732b1602fe6bded3abe728719e1c6245d46873245"),
    "q8_r128": (1, "e45b13d9816c02ee7a344f40a225fc12171d50eeebf3131c0f5eefed515e3670"),
}


@pytest.mark.parametrize("name", list(PROFILES))
def test_every_listed_field_is_there(name: str) -> None:
    row = quant_profile(name)
    assert row["schema"] == "trlm.quantization.v1"
    assert row["name"] == name
    assert set(row) >= LISTED


@pytest.mark.parametrize("name", list(PROFILES))
def test_ids_are_frozen(name: str) -> None:
    assert (quant_profile(name)["version"], quant_profile_id(name)) == IDS[name]


def test_profile_says_what_the_code_does() -> None:
    row = quant_profile("q8_r128")
    assert row["group"] == [1, q8_r128.GROUP]
    assert row["bits"] == q8_r128.Q.bit_length() + 1
    assert f"multiple of {q8_r128.ROW_UNIT} columns" in row["tail"]
    assert f"/ {q8_r128.Q}," in row["scale_rule"]


def test_unknown_profile() -> None:
    with pytest.raises(UnknownNameError, match="known: f32, q8_r128"):
        quant_profile("q3")
