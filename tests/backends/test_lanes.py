"""The profile `lanes16-f32-v1`: native, wasmtime and Chromium have the bits of the reference."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.backends.coded_model import coded_model, every_form
from tests.backends.exact_cases import CASE, TOKENS, digests
from tests.backends.test_families import CASES, UNUSUAL, by_name, check_all
from tests.backends.tiny_families import FAMILIES
from trlm_lab.backends.abi_host import last_error
from trlm_lab.backends.abi_session import AbiSession
from trlm_lab.backends.browser import ChromiumRunner
from trlm_lab.backends.native import NativeRunner
from trlm_lab.backends.reference import ReferenceRunner
from trlm_lab.backends.runtime_source import LANES_PROFILE, PROFILE
from trlm_lab.backends.wasm_module import MODULE, SIMD_MODULE, read_module
from trlm_lab.backends.wasm_wasmtime import WasmtimeRunner
from trlm_lab.base.interfaces import Runner, Subject
from trlm_lab.base.records import Case
from trlm_lab.errors import RuntimeRefusedError

Make = Callable[[str], Runner]


def opened(make: Make, path: Path, profile: str = LANES_PROFILE):
    return make(profile).open(Subject(artifact=path))


@pytest.mark.parametrize("make", [NativeRunner, WasmtimeRunner], ids=["native", "wasmtime"])
@pytest.mark.parametrize("quant", ["f32", "q8_r128"])
def test_every_family_has_the_bits_of_the_reference(
    tiny_file: Callable[..., Path], require: Callable[[Runner], None], make: Make, quant: str
) -> None:
    require(make(LANES_PROFILE))
    for family in FAMILIES if make is NativeRunner else FAMILIES[:1]:
        path = tiny_file(quant, family=family)
        with opened(make, path) as ours, opened(ReferenceRunner, path) as theirs:
            assert ours.identity.profile == LANES_PROFILE
            check_all(ours, theirs)


@pytest.mark.parametrize("changes", UNUSUAL.values(), ids=UNUSUAL)
def test_so_has_what_no_family_has(
    tiny_file: Callable[..., Path], require: Callable[[Runner], None], changes: dict[str, object]
) -> None:
    require(NativeRunner(LANES_PROFILE))
    path = tiny_file("q8_r128", **changes)
    with opened(NativeRunner, path) as ours, opened(ReferenceRunner, path) as theirs:
        check_all(ours, theirs)


def test_the_two_profiles_differ(
    tiny_file: Callable[..., Path], require: Callable[[Runner], None]
) -> None:
    """Where a sum has two terms for one lane, and nowhere before."""
    require(NativeRunner(LANES_PROFILE))
    path = tiny_file("f32")
    with opened(NativeRunner, path) as lanes, opened(NativeRunner, path, PROFILE) as scalar:
        ours, theirs = by_name(lanes.run(CASE)), by_name(scalar.run(CASE))
    assert digests({"e": ours["embedding"]}) == digests({"e": theirs["embedding"]})
    assert not np.array_equal(ours["logits"].values, theirs["logits"].values)
    np.testing.assert_allclose(ours["logits"].values, theirs["logits"].values, atol=1e-4)


def test_one_token_at_a_time_gives_the_rows_of_the_prefill(
    tiny_file: Callable[..., Path], require: Callable[[Runner], None]
) -> None:
    require(NativeRunner(LANES_PROFILE))
    with opened(NativeRunner, tiny_file("q8_r128", family="gemma3")) as session:
        whole = by_name(session.run(CASE))["logits"].values
        for t, token in enumerate(TOKENS):
            seen = by_name(session.advance((token,), fresh=t == 0))
            assert seen["logits"].values.tobytes() == whole[t : t + 1].tobytes()


def test_an_order_is_chosen_before_the_first_case(
    tiny_file: Callable[..., Path], require: Callable[[Runner], None]
) -> None:
    require(NativeRunner())
    with opened(NativeRunner, tiny_file("f32"), PROFILE) as session:
        assert isinstance(session, AbiSession)
        list(session.run(CASE))
        for order, detail in ((1, "a case was begun in another"), (2, "2 is no order")):
            assert session._signed("trlm_model_order", session.model, order) < 0
            with pytest.raises(RuntimeRefusedError, match=re.escape(detail)):
                raise last_error(session.host)
        assert session._signed("trlm_model_order", session.model, 0) == 0


def test_every_block_format(tmp_path: Path, require: Callable[[Runner], None]) -> None:
    require(NativeRunner(LANES_PROFILE))
    path = tmp_path / "m.slm"
    for form in every_form():
        path.write_bytes(coded_model(*form))
        with opened(NativeRunner, path) as ours, opened(ReferenceRunner, path) as theirs:
            for case in CASES:
                assert digests(by_name(ours.run(case))) == digests(by_name(theirs.run(case))), form


@pytest.mark.xdist_group("browser")
def test_the_browser_has_the_same_bits(
    tiny_file: Callable[..., Path], require: Callable[[Runner], None]
) -> None:
    require(ChromiumRunner(LANES_PROFILE))
    path = tiny_file("q8_r128")
    with opened(ChromiumRunner, path) as ours, opened(ReferenceRunner, path) as theirs:
        assert ours.identity.name == "wasm-simd@chromium"
        for case in (CASE, Case("one", (1,))):
            assert digests(by_name(ours.run(case))) == digests(by_name(theirs.run(case)))


def valid(module: bytes, **features: bool) -> bool:
    """Whether an engine with these features takes a module."""
    import wasmtime

    config = wasmtime.Config()
    for name, wanted in features.items():
        setattr(config, f"wasm_{name}", wanted)
    try:
        wasmtime.Module.validate(wasmtime.Engine(config), module)
    except wasmtime.WasmtimeError:
        return False
    return True


def test_a_scan_finds_no_relaxed_operation_in_the_modules() -> None:
    """Validation reads every instruction; the scan itself is shown to find one."""
    import wasmtime

    two = "(v128.const i32x4 0 0 0 0)"
    relaxed = wasmtime.wat2wasm(f"(module (func (drop (f32x4.relaxed_min {two} {two}))))")
    assert valid(relaxed, relaxed_simd=True)
    assert not valid(relaxed, relaxed_simd=False)
    scalar, simd = (read_module(path)[0] for path in (MODULE, SIMD_MODULE))
    assert valid(simd, relaxed_simd=False)
    assert valid(scalar, relaxed_simd=False, simd=False)
    # The second module is one in more than its name.
    assert not valid(simd, relaxed_simd=False, simd=False)
