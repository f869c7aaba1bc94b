"""Every family's small configuration: native and WebAssembly have the reference's bits."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.backends.exact_cases import CASE, ODD_CASE, TOKENS, digests
from tests.backends.tiny_families import FAMILIES, FULL, SLIDES
from trlm_lab.backends.abi_host import Host, Scratch, last_error
from trlm_lab.backends.abi_session import AbiSession
from trlm_lab.backends.native import NativeRunner
from trlm_lab.backends.reference import ReferenceRunner
from trlm_lab.base.bits import same_bits
from trlm_lab.base.interfaces import Runner, Session, Subject
from trlm_lab.base.model_parts import ladder_of
from trlm_lab.base.names import is_checkpoint
from trlm_lab.base.records import Case, EngineIdentity, Observation
from trlm_lab.errors import AllKeysMaskedError
from trlm_lab.oracle.defaults import effective_config, source_defaults
from trlm_lab.pack import pack_snapshot

QUANTS = ("f32", "q8_r128")
#: Padding at the end of a chunk, positions that neither begin at 0 nor ascend by 1.
CASES = (CASE, ODD_CASE, Case("one", (1,)))
DECODE = Case("decode", TOKENS[:4], position_ids=(2, 3, 5, 8), attention_mask=(1, 0, 1, 1))

#: What no family has, beside what all have.
UNUSUAL: dict[str, dict[str, object]] = {
    "interleaved-partial": {"family": "phi3", "rope_order": "interleaved"},
    "erf": {"hidden_act": "gelu_erf"},
    "plain-erf": {"family": "gpt2", "hidden_act": "gelu_erf"},
    "plain-silu": {"family": "gpt2", "hidden_act": "silu", "attention_out_bias": False},
    "gated-biases": {"mlp_bias": True, "attention_out_bias": True, "embedding_scale": 0.75},
    "learned-and-normed": {
        "qk_norm": "head", "rope_order": "none", "rope_theta": 0.0, "norm_placement": "sandwich",
    },
    "joined-with-offset": {
        "qk_norm": "joined", "norm_unit_offset": True, "attn_logit_softcapping": 0.5,
    },
    "local-partial": {
        "family": "phi3", "layer_types": (SLIDES, FULL), "rope_local_base_freq": 100.0,
        "rope_attention_factor": 1.25,
    },
    "window-of-two": {"layer_types": (FULL, SLIDES), "sliding_window": 2},
}  # fmt: skip


@dataclass(frozen=True)
class Lent:
    """An instance of the runtime that other tests use too: closing gives the file back alone."""

    host: Host
    file: Scratch

    def call(self, name: str, *arguments: int) -> int:
        return self.host.call(name, *arguments)

    def bytes_at(self, address: int, length: int) -> NDArray[np.uint8]:
        return self.host.bytes_at(address, length)

    def close(self) -> None:
        self.file.__exit__()


def session_in(host: Host, path: Path) -> AbiSession:
    """A session over a file in the memory of a shared instance."""
    data = np.fromfile(path, dtype=np.uint8)
    lent = Lent(host, Scratch(host, data).__enter__())
    model = host.call("trlm_model_load", lent.file.address, len(data))
    if model == 0:
        raise last_error(host)
    return AbiSession(lent, model, EngineIdentity("shared", "", "", ""))


def opened_reference(path: Path) -> Session:
    return ReferenceRunner().open(Subject(artifact=path))


def check_all(ours: Session, theirs: Session) -> None:
    """Prefills, and a decode that leaves every window behind, checkpoint by checkpoint."""
    for case in CASES:
        assert digests(by_name(ours.run(case))) == digests(by_name(theirs.run(case))), case.case_id
    for steps in (DECODE, Case("short", TOKENS[:2])):
        assert digests(by_name(ours.steps(steps, 5))) == digests(by_name(theirs.steps(steps, 5)))


def by_name(seen: Iterator[Observation]) -> dict[str, Observation]:
    return {one.name: one for one in seen}


@pytest.mark.parametrize("quant", QUANTS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_checkpoint_has_the_bits_of_the_reference(
    tiny_file: Callable[..., Path], text_host: Host, family: str, quant: str
) -> None:
    path = tiny_file(quant, family=family)
    with session_in(text_host, path) as ours, opened_reference(path) as theirs:
        check_all(ours, theirs)


@pytest.mark.parametrize("changes", UNUSUAL.values(), ids=UNUSUAL)
def test_so_has_what_no_family_has(
    tiny_file: Callable[..., Path],
    require: Callable[[Runner], None],
    changes: dict[str, object],
) -> None:
    require(NativeRunner())
    subject = Subject(artifact=tiny_file("q8_r128", **changes))
    with NativeRunner().open(subject) as ours, ReferenceRunner().open(subject) as theirs:
        check_all(ours, theirs)


@pytest.fixture
def native(
    tiny_file: Callable[..., Path], require: Callable[[Runner], None]
) -> Iterator[Callable[..., AbiSession]]:
    """A native session over a family's model, by the changes of its configuration."""
    require(NativeRunner())
    opened: list[AbiSession] = []

    def open_one(**changes: object) -> AbiSession:
        opened.append(NativeRunner().open(Subject(artifact=tiny_file(**changes))))
        return opened[-1]

    yield open_one
    for session in opened:
        session.close()


@pytest.mark.parametrize("family", FAMILIES)
def test_the_ladder_is_that_of_the_configuration(
    native: Callable[..., AbiSession], tiny: object, family: str
) -> None:
    names = [seen.name for seen in native(family=family).run(CASE) if is_checkpoint(seen.name)]
    assert names == ladder_of(tiny.tiny_config(family))  # type: ignore[attr-defined]


@pytest.mark.parametrize("family", FAMILIES)
def test_one_token_at_a_time_gives_the_rows_of_the_prefill(
    native: Callable[..., AbiSession], family: str
) -> None:
    session = native(family=family)
    whole = by_name(session.run(CASE))
    for t, token in enumerate(TOKENS):
        for seen in session.advance((token,), fresh=t == 0):
            values = whole[seen.name].values
            square = ".attn_" in seen.name and values.ndim == 3
            wanted = values[:, t : t + 1, : t + 1] if square else values[t : t + 1]
            assert same_bits(seen.values, np.ascontiguousarray(wanted)), f"{seen.name}, token {t}"


@pytest.mark.parametrize(
    ("mask", "row"), [((0, 1, 1, 1, 1), 0), ((1, 0, 0, 0, 1), 3), ((1, 1, 0, 0, 0), 4)]
)
def test_a_query_whose_window_is_hidden_is_refused(
    native: Callable[..., AbiSession], mask: tuple[int, ...], row: int
) -> None:
    session = native(family="mistral")
    with pytest.raises(AllKeysMaskedError) as refusal:
        list(session.run(Case("hidden", TOKENS[:5], attention_mask=mask)))
    assert refusal.value.facts["row"] == row
    assert list(session.run(CASE))


def test_a_decode_step_whose_window_is_hidden_is_refused(
    native: Callable[..., AbiSession],
) -> None:
    session = native(family="mistral")
    list(session.run(Case("padded", TOKENS[:4], attention_mask=(1, 1, 0, 0))))
    with pytest.raises(AllKeysMaskedError):
        list(session.advance((7,), keep=(0,)))
    assert session.cached == 4
    assert list(session.advance((7,)))


def test_a_hidden_stretch_longer_than_any_window_is_seen_past_without_windows(
    native: Callable[..., AbiSession],
) -> None:
    assert list(native().run(Case("far", TOKENS, attention_mask=(1, *(0,) * 10))))


@pytest.mark.parametrize("quant", QUANTS)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_packed_models_of_the_source_have_the_bits_of_the_reference(
    tiny_models: Callable[[str], Path],
    require: Callable[[Runner], None],
    tmp_path: Path,
    family: str,
    quant: str,
) -> None:
    require(NativeRunner())
    root = tiny_models(family)
    config = effective_config(source_defaults(root))
    artifact, _ = pack_snapshot(root, config, quant, tmp_path / "model.slm")
    subject = Subject(artifact=artifact.path)
    case = Case("past-windows", tuple(range(3, 23)))
    with NativeRunner().open(subject) as ours, ReferenceRunner().open(subject) as theirs:
        assert digests(by_name(ours.steps(case, 4))) == digests(by_name(theirs.steps(case, 4)))
