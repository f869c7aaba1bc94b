"""Quantization profiles: complete, hashed, and what the code does."""

import pytest

from trlm_lab.errors import UnknownNameError
from trlm_lab.pack import quant_profile, quant_profile_id
from trlm_lab.pack.profiles import CALIBRATED_NAMES, PROFILES
from trlm_lab.quant import GROUPED, Search, block_format
from trlm_lab.quant.grouped import UNIT, Grouped
from trlm_lab.quant.residual import ResidualRule
from trlm_lab.slm.numbers import DType, Role

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
    "q6_g64": (1, "fedeafd51895b344d5dcbe726d61f9a6d80553baedced8a6676de7cc15a4b2d6"),
    "q5_g64": (1, "cb1b3b356a175910cc1ab71f19126f0a9a3a647fea8a1b157ad40afa00ef0303"),
    "q4_g64": (1, "d3e97b468e3cfda3d9fa4a7a8d9dbf13bc668074b1a2d92cdd65ea259ad232c3"),
    "mixed-q456-mobile": (1, "bbafe874a5ccbf128bdb2531d11b42658e845df8b5f7a490442e0b0a83669095"),
    "mixed-q456": (1, "f62aea92c9bb261871eeb04f8783eb480465b697b9e1d067e7024bee23b7959b"),
    "f16": (1, "6d5338da63c731fb48cd13f30bdc7c85739b0462f3dbe308ed713375c577c433"),
    "bf16": (1, "a5baa08190a2ef4344c4cebf0476f086719b860a8eaff69095268e0e8bcda9df"),
    "q8_r128-bf16": (1, "f798074077a81c09d22cf51ab4779f2006af45a88dfe20d175750ae3ed86451f"),
    "q8_r128-e8m0": (1, "620ef451b6d3b405fffdf6ffcddb538f70e99f672124e9a1c40f11fa06f00897"),
    "q6_g64-bf16": (1, "57b344d02349783e812ee45fcfa3bdc0a87252549d80eba57e0a9d71f4ae3da8"),
    "q6_g64-e8m0": (1, "8dd481eee2aca1d5f976f148200bc6be6656a78fd94e848488fbc6081be44199"),
    "q5_g64-bf16": (1, "6b0d6075f19f978208c531e2519e81b578174f676bbdfa7798326f90400ae628"),
    "q5_g64-e8m0": (1, "8d6618bafdfda362c04b79df9c2135917528110934c783f9efbf05854e2d42b3"),
    "q4_g64-bf16": (1, "da4c5b11dc2b7d4ff675e2540608fbb56782c3a5d880d0a39dd8ea879a7be5a7"),
    "q4_g64-e8m0": (1, "99fdd7bafb6ed37b3c44a5c5c1a5a15b86a5a1cde4330433ec6d8bed3735893f"),
    "q5_g64-search": (1, "a87b9a44b2a208808473f0c24c9a07d2f4329c905fab8e0a4b6320b71d01d2b2"),
    "q4_g64-search": (1, "2a248afa82b5e1e5c93f2571fc4ce2d086cb971ea188cbf9587f522e961df8e6"),
    "q4_g64-sparse-f16": (1, "b0a24f306d00e549390aa8fdffdba7e8605e2c7953b61575558046b16248aee4"),
    "q4_g64-sparse-q8": (1, "361f402abe9d784083666268cf2306b9364f4a3ea1cba68b2f72ff400ea3be23"),
    "q8_r128-awq": (1, "5525be262b86a6e27ebc47415aea861b6031260e1a3d49cbbf137b871d420713"),
    "q8_r128-gptq": (1, "6a278be0edfcf5082e22877faf8571f10e0009533120753669e6c5ea9e0fb271"),
    "q6_g64-awq": (1, "cfcd36fbd491273d0e9059634a8c60155583308b8a69d215ed8057b706d51702"),
    "q6_g64-gptq": (1, "401bbc18919a5d68023f93638e0d305f5195c48825dd4742e96f882948cfcd7f"),
    "q5_g64-awq": (1, "0fffcfaf6aec4f73290947a3c1912b1c7b22a08ba8358ce57e47257fcee4f919"),
    "q5_g64-gptq": (1, "39722d9dc9a4ac1e9cc5712bcff4525f30e5e5796cd71cd072477914d501e200"),
    "q4_g64-awq": (1, "c09b2b5235063137fc8e509606bc7a28899662b8f9d0e3bc8056495bd7d106c8"),
    "q4_g64-gptq": (1, "27c077109f69ae028425e9700aa466cab6099174a943d484f582eab092711162"),
}


@pytest.mark.parametrize("name", [*PROFILES, *CALIBRATED_NAMES])
def test_every_listed_field_is_there(name: str) -> None:
    row = quant_profile(name)
    assert row["schema"] == "trlm.quantization.v1"
    assert row["name"] == name
    assert set(row) >= LISTED


@pytest.mark.parametrize("name", [*PROFILES, *CALIBRATED_NAMES])
def test_ids_are_frozen(name: str) -> None:
    assert (quant_profile(name)["version"], quant_profile_id(name)) == IDS[name]


@pytest.mark.parametrize("name", [n for n in PROFILES if PROFILES[n].matrices.name in GROUPED])
def test_profile_says_what_the_code_does(name: str) -> None:
    row, profile = quant_profile(name), PROFILES[name]
    dtypes = {profile.matrices, *profile.roles.values()}
    forms = [block_format(dtype.name, profile.scales.name) for dtype in dtypes]
    for form in forms:
        assert isinstance(form, Grouped)
        assert row["group"] == [1, form.group]
        assert form.bits in (row["bits"] if isinstance(row["bits"], list) else [row["bits"]])
        assert f"multiple of {UNIT} columns" in row["tail"]
        assert f"/ {form.q}" in row["scale_rule"]
        assert str(-form.q - 1) in row["reading"]
        assert row["scale_dtype"] == form.encoding.name


def test_storage_by_role() -> None:
    """Roles of a mixed profile, the head as the embedding, and nothing but matrices."""
    mixed = PROFILES["mixed-q456"]
    six = {Role.embedding, Role.lm_head, Role.position_embedding, Role.o_proj, Role.down_proj}
    for role in Role:
        want = DType.q6_g64 if role in six else DType.q5_g64
        assert mixed.dtype_of(role, (4, 8)) == want
        assert mixed.dtype_of(role, (8,)) == DType.f32


def test_grid_and_rule_of_the_variants() -> None:
    assert PROFILES["q4_g64-search"].fractions == tuple(1 - i / 32 for i in range(16))
    assert PROFILES["q4_g64-search"].format_of(DType.q4_g64) == block_format(
        "q4_g64", "fp16", Search(PROFILES["q4_g64-search"].fractions)
    )
    rule = PROFILES["q4_g64-sparse-q8"].residual
    assert rule == ResidualRule("q8_r128", 0.014, 0.015)


def test_unknown_profile() -> None:
    with pytest.raises(UnknownNameError, match="known: f32, q8_r128"):
        quant_profile("q3")
