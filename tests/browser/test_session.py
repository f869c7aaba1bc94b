"""The engine in a real Chromium: bits, refusals, repeated and abandoned runs."""

import asyncio
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.ladders import llama_ladder
from trlm_lab.backends.browser import ChromiumRunner, ChromiumSession
from trlm_lab.backends.browser import session as session_module
from trlm_lab.backends.reference import ReferenceRunner
from trlm_lab.base.bits import same_bits
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import ArrayDigest, Case
from trlm_lab.errors import (
    AllKeysMaskedError,
    ContextLengthError,
    ModelFilesError,
    PositionRangeError,
    RuntimeRefusedError,
    SessionBusyError,
    SessionClosedError,
    SlmHashError,
    SubjectMissingError,
    TokenRangeError,
    TransferCorruptError,
)

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

CASE = Case("five", (1, 2, 3, 69, 0))
PLACED = replace(CASE, position_ids=(3, 4, 5, 9, 10), attention_mask=(1, 0, 1, 1, 1))


@pytest.mark.parametrize("case", [CASE, Case("one", (7,)), PLACED], ids=["five", "one", "placed"])
def test_every_array_has_the_bits_of_the_reference(
    session: ChromiumSession, tiny_subject: Subject, case: Case
) -> None:
    with ReferenceRunner("scalar-f32-v1").open(tiny_subject) as reference:
        expected = {o.name: o.values.copy() for o in reference.run(case)}
    got = {o.name: o.values for o in session.run(case)}
    assert [n for n in got if n in set(llama_ladder(2))] == llama_ladder(2)
    for name, values in expected.items():
        assert same_bits(got[name], values), name


def test_digests_are_those_of_the_arrays(session: ChromiumSession) -> None:
    arrays = tuple(ArrayDigest.of(o) for o in session.run(CASE))
    trace = session.run_digests(CASE)
    assert trace.arrays == arrays
    assert (trace.case_id, trace.case_digest) == (CASE.case_id, CASE.digest)


def test_inputs_come_first(session: ChromiumSession) -> None:
    names = [o.name for o in session.run(PLACED)]
    assert names[:3] == ["token_ids", "position_ids", "attention_mask"]
    assert names[-3:] == ["logits", "logits.topk_ids", "logits.topk_values"]


def test_arrays_belong_to_the_receiver(session: ChromiumSession) -> None:
    kept = list(session.run(CASE))
    again = list(session.run(Case("other", (9, 8, 7, 6, 5))))
    assert all(o.values.flags.writeable for o in kept)
    kept[-1].values[:] = 0
    assert np.all(again[-1].values != 0)


def test_identity_binds_the_code_and_no_machine(
    session: ChromiumSession, chromium: ChromiumRunner, tiny_slm: Path
) -> None:
    identity = session.identity
    assert identity.name == "wasm-scalar@chromium"
    assert identity.version == chromium.availability().version
    assert identity.build_sha256 == file_sha256(chromium.module)
    assert identity.details["cross_origin_isolated"] is True
    assert identity.details["dedicated_worker"] is True
    assert "simd" in identity.details["wasm_features"]
    assert session.artifact_sha256 == file_sha256(tiny_slm)
    assert "127.0.0.1" not in str(identity.to_map())


def test_two_sessions_in_a_row_agree(chromium: ChromiumRunner, tiny_subject: Subject) -> None:
    traces, identities = [], []
    for _ in range(2):
        with chromium.open(tiny_subject) as opened:
            traces.append(opened.run_digests(CASE))
            identities.append(opened.identity)
    assert traces[0] == traces[1]
    assert identities[0] == identities[1]


def test_refused_cases_leave_the_session_usable(session: ChromiumSession) -> None:
    with pytest.raises(TokenRangeError, match=r"case a: token_ids\[1\]: token 70 at index 1"):
        list(session.run(Case("a", (1, 70))))
    with pytest.raises(ContextLengthError, match="65 tokens exceed the declared context of 64"):
        session.run_digests(Case("b", (1,) * 65))
    with pytest.raises(AllKeysMaskedError):
        session.run_digests(Case("c", (1, 2), attention_mask=(0, 0)))
    with pytest.raises(PositionRangeError, match="position 1048576 at index 0"):
        session.run_digests(Case("d", (1,), position_ids=(1 << 20,)))
    with pytest.raises(PositionRangeError, match=r"case e: position_ids\[0\]: position -1"):
        session.run_digests(Case("e", (1,), position_ids=(-1,)))
    assert session.run_digests(CASE).names[0] == "token_ids"


def test_an_abandoned_run_ends(session: ChromiumSession) -> None:
    run = session.run(CASE)
    assert next(iter(run)).name == "token_ids"
    run.close()  # type: ignore[attr-defined]
    assert len(list(session.run(CASE))) == 44


def test_a_new_run_ends_the_one_before(session: ChromiumSession) -> None:
    first = session.run(CASE)
    next(first)
    assert len(list(session.run(CASE))) == 44
    with pytest.raises(SessionBusyError):
        list(first)


def test_a_closed_session_says_so(chromium: ChromiumRunner, tiny_subject: Subject) -> None:
    with chromium.open(tiny_subject) as opened:
        pass
    opened.close()
    with pytest.raises(SessionClosedError):
        list(opened.run(CASE))
    with pytest.raises(SessionClosedError):
        opened.run_digests(CASE)


def test_progress_is_told(session: ChromiumSession) -> None:
    seen: list[tuple[str, int, int]] = []
    session.on_progress = lambda *row: seen.append(row)
    session.run_digests(CASE)
    session.on_progress = None
    assert seen == [("computing", done, 4) for done in (1, 2, 3, 4)]


def test_inside_a_running_loop(chromium: ChromiumRunner, tiny_subject: Subject) -> None:
    async def in_a_notebook() -> int:
        with chromium.open(tiny_subject) as opened:
            return len(list(opened.run(CASE)))

    assert asyncio.run(in_a_notebook()) == 44


def test_from_another_thread(session: ChromiumSession) -> None:
    counts: list[int] = []
    thread = threading.Thread(target=lambda: counts.append(len(list(session.run(CASE)))))
    thread.start()
    thread.join()
    assert counts == [44]


def test_a_subject_without_an_artifact(chromium: ChromiumRunner) -> None:
    with pytest.raises(SubjectMissingError):
        chromium.open(Subject())


def test_an_artifact_that_is_not_there(chromium: ChromiumRunner, tmp_path: Path) -> None:
    with pytest.raises(ModelFilesError, match=r"absent\.slm"):
        chromium.open(Subject(artifact=tmp_path / "absent.slm"))


HOSTILE = {
    "no artifact at all": (b"hello" * 100, "MAGIC"),
    "empty": (b"", "TRUNCATED"),
    "too short for a header": (b"SLM2", "TRUNCATED"),
}


@pytest.mark.parametrize("name", list(HOSTILE))
def test_the_runtime_refuses_what_is_no_artifact(
    chromium: ChromiumRunner, tmp_path: Path, name: str
) -> None:
    content, code = HOSTILE[name]
    path = tmp_path / "hostile.slm"
    path.write_bytes(content)
    with pytest.raises(RuntimeRefusedError, match=code):
        chromium.open(Subject(artifact=path))


def test_a_flipped_byte_is_refused(
    chromium: ChromiumRunner, tiny_slm: Path, tmp_path: Path
) -> None:
    content = bytearray(tiny_slm.read_bytes())
    content[-100] ^= 1
    path = tmp_path / "flipped.slm"
    path.write_bytes(content)
    with pytest.raises(SlmHashError, match="self_sha256"):
        chromium.open(Subject(artifact=path))


def test_a_file_that_changes_under_way_is_noticed(
    chromium: ChromiumRunner, tiny_subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "file_sha256", lambda path: "0" * 64)
    with pytest.raises(TransferCorruptError, match="0" * 64):
        chromium.open(tiny_subject)
