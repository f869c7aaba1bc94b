"""The native engine: the reference's bits, incremental decoding, refusals, and its build."""

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.backends.exact_cases import CASE, ODD_CASE, TOKENS, Observe, digests
from tests.ladders import llama_ladder
from trlm_lab.backends import build_native, runtime_source
from trlm_lab.backends.native import NativeRunner
from trlm_lab.backends.reference import ReferenceRunner
from trlm_lab.base.bits import same_bits
from trlm_lab.base.interfaces import Runner, Subject
from trlm_lab.base.names import is_checkpoint
from trlm_lab.base.records import Case, Observation
from trlm_lab.errors import (
    AllKeysMaskedError,
    CompilerMissingError,
    ContextLengthError,
    ModelFilesError,
    NativeBuildError,
    NotPlainFileError,
    PositionRangeError,
    RuntimeRefusedError,
    RuntimeSourceMissingError,
    SessionBusyError,
    SlmHashError,
    SubjectMissingError,
    TokenRangeError,
)


@pytest.fixture(scope="module", autouse=True)
def _here(require: Callable[[Runner], None]) -> None:
    require(NativeRunner())


@pytest.mark.parametrize("quant", ["f32", "q8_r128"])
@pytest.mark.parametrize("case", [CASE, ODD_CASE, Case("one", (1,))], ids=lambda c: c.case_id)
@pytest.mark.parametrize(
    "changes",
    [{}, {"rope_order": "interleaved"}, {"tie_word_embeddings": False}, {"head_dim": 130}],
    ids=["tied", "interleaved", "untied", "two-groups"],
)
def test_every_checkpoint_has_the_bits_of_the_reference(
    tiny_file: Callable[..., Path],
    observed: Observe,
    quant: str,
    case: Case,
    changes: dict[str, object],
) -> None:
    path = tiny_file(quant, **changes)
    ours = observed(NativeRunner(), path, case)
    assert digests(ours) == digests(observed(ReferenceRunner(), path, case))


@pytest.mark.parametrize("quant", ["f32", "q8_r128"])
def test_the_packed_small_model_has_the_bits_of_the_reference(
    small_artifacts: dict[str, object], observed: Observe, quant: str
) -> None:
    path = small_artifacts[quant].artifact.path  # type: ignore[attr-defined]
    case = Case("small", tuple(range(100, 123)))
    ours = observed(NativeRunner(), path, case)
    assert digests(ours) == digests(observed(ReferenceRunner(), path, case))


def test_checkpoints_come_in_ladder_order(
    tiny_file: Callable[..., Path], observed: Observe
) -> None:
    names = list(observed(NativeRunner(), tiny_file(), ODD_CASE))
    inputs = ["token_ids", "position_ids", "attention_mask"]
    assert names == [*inputs, *llama_ladder(2), "logits.topk_ids", "logits.topk_values"]


def test_one_token_at_a_time_gives_the_rows_of_the_prefill(tiny_file: Callable[..., Path]) -> None:
    with NativeRunner().open(Subject(artifact=tiny_file("q8_r128"))) as session:
        whole = {seen.name: seen.values for seen in session.run(CASE)}
        for t, token in enumerate(TOKENS):
            for seen in session.advance((token,), fresh=t == 0):
                _check_row(seen, whole[seen.name], t)
            assert session.cached == t + 1


def _check_row(seen: Observation, whole: np.ndarray, t: int) -> None:
    if ".attn_" in seen.name and whole.ndim == 3:
        wanted = whole[:, t : t + 1, : t + 1]
    else:
        wanted = whole[t : t + 1]
    assert same_bits(seen.values, np.ascontiguousarray(wanted)), f"{seen.name} at token {t}"


def test_chunks_give_the_rows_of_the_prefill(tiny_file: Callable[..., Path]) -> None:
    with NativeRunner().open(Subject(artifact=tiny_file())) as session:
        whole = {seen.name: seen.values for seen in session.run(CASE)}["logits"]
        parts = [
            {s.name: s.values for s in session.advance(TOKENS[a:b], fresh=a == 0)}["logits"]
            for a, b in ((0, 4), (4, 9), (9, 11))
        ]
        assert same_bits(np.concatenate(parts), whole)


def test_the_last_logits_alone(tiny_file: Callable[..., Path]) -> None:
    with NativeRunner().open(Subject(artifact=tiny_file())) as session:
        whole = {seen.name: seen.values for seen in session.run(CASE)}
        last = {s.name: s.values for s in session.advance(TOKENS, fresh=True, last_logits=True)}
    for name in ("final_norm", "logits", "logits.topk_ids", "logits.topk_values"):
        assert same_bits(last[name], whole[name][-1:])


def test_greedy_steps_are_those_of_the_reference(tiny_file: Callable[..., Path]) -> None:
    subject = Subject(artifact=tiny_file())
    with NativeRunner().open(subject) as ours, ReferenceRunner().open(subject) as theirs:
        pairs = list(zip(ours.steps(CASE, 4), theirs.steps(CASE, 4), strict=True))
    assert all(a.name == b.name and same_bits(a.values, b.values) for a, b in pairs)
    assert pairs[-1][0].name == "generated"


def test_an_abandoned_run_leaves_the_cache_as_it_was(tiny_file: Callable[..., Path]) -> None:
    with NativeRunner().open(Subject(artifact=tiny_file())) as session:
        list(session.run(CASE))
        first = {s.name: s.values for s in session.advance((7,))}
        list(session.run(CASE))
        for seen in session.advance((50, 51)):
            if seen.name == "layers.1.k_rope":
                break
        assert session.cached == len(TOKENS)
        again = {s.name: s.values for s in session.advance((7,))}
    assert all(same_bits(first[name], again[name]) for name in first)


def test_exp_off_by_one_ulp_changes_the_hashes(
    tiny_file: Callable[..., Path], observed: Observe
) -> None:
    sound = observed(NativeRunner(), tiny_file(), CASE)
    wrong_runner = NativeRunner(features=("exp_ulp_off",))
    wrong = observed(wrong_runner, tiny_file(), CASE)
    names = [n for n in sound if is_checkpoint(n)]
    differing = [n for n in names if not same_bits(sound[n].values, wrong[n].values)]
    assert differing[0] == "layers.0.attn_probs"
    assert {"layers.0.mlp_act", "layers.1.output", "logits"} <= set(differing)
    assert wrong_runner.name == "native-scalar+exp_ulp_off"


def test_the_identity_binds_sources_and_compiler(tiny_file: Callable[..., Path]) -> None:
    build = build_native.wanted_build()
    wrong = build_native.wanted_build(("exp_ulp_off",))
    assert build.build_sha256 != wrong.build_sha256
    with NativeRunner().open(Subject(artifact=tiny_file())) as session:
        identity = session.identity
    assert identity.name == "native-scalar"
    assert identity.build_sha256 == build.build_sha256
    assert identity.details["compiler"] == build.compiler_version
    assert identity.details["sources_sha256"] == runtime_source.sources_sha256()


def test_the_runtime_verifies_the_hashes_itself(tiny_file: Callable[..., Path]) -> None:
    with NativeRunner().open(Subject(artifact=tiny_file("q8_r128"))) as session:
        session.verify()


def test_a_changed_byte_is_refused(tiny_file: Callable[..., Path], tmp_path: Path) -> None:
    data = bytearray(tiny_file().read_bytes())
    data[-5] ^= 1
    path = tmp_path / "changed.slm"
    path.write_bytes(data)
    with pytest.raises(SlmHashError):
        NativeRunner().open(Subject(artifact=path))


def test_bytes_that_are_no_container_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.slm"
    for data, name in ((b"SLM", "TRUNCATED"), (bytes(4096), "MAGIC")):
        path.write_bytes(data)
        with pytest.raises(RuntimeRefusedError) as refusal:
            NativeRunner().open(Subject(artifact=path))
        assert refusal.value.facts["error_name"] == name


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("missing", ModelFilesError),
        ("empty", ModelFilesError),
        ("directory", NotPlainFileError),
    ],
)
def test_unreadable_artifacts_are_refused(
    tmp_path: Path, kind: str, error: type[Exception]
) -> None:
    path = tmp_path / "x.slm"
    if kind == "empty":
        path.touch()
    elif kind == "directory":
        path.mkdir()
    with pytest.raises(error):
        NativeRunner().open(Subject(artifact=path))


def test_a_subject_without_an_artifact(tmp_path: Path) -> None:
    with pytest.raises(SubjectMissingError):
        NativeRunner().open(Subject(model_dir=tmp_path))


@pytest.mark.parametrize(
    ("case", "error"),
    [
        (Case("vocab", (1, 67)), TokenRangeError),
        (Case("long", (1,) * 65), ContextLengthError),
        (Case("hidden", (1, 2), attention_mask=(0, 1)), AllKeysMaskedError),
        (Case("far", (1,), position_ids=(1 << 20,)), PositionRangeError),
        (Case("negative", (1,), position_ids=(-1,)), PositionRangeError),
    ],
    ids=lambda x: x.case_id if isinstance(x, Case) else "",
)
def test_bad_cases_are_refused_and_the_session_lives_on(
    tiny_file: Callable[..., Path], case: Case, error: type[Exception]
) -> None:
    with NativeRunner().open(Subject(artifact=tiny_file())) as session:
        with pytest.raises(error):
            list(session.run(case))
        assert list(session.run(CASE))


def test_the_cache_counts_towards_the_context(tiny_file: Callable[..., Path]) -> None:
    with NativeRunner().open(Subject(artifact=tiny_file())) as session:
        list(session.advance((1,) * 64, fresh=True))
        with pytest.raises(ContextLengthError) as refusal:
            list(session.advance((1,)))
    assert refusal.value.facts["tokens"] == 65


def test_interleaved_runs_are_refused(tiny_file: Callable[..., Path]) -> None:
    with NativeRunner().open(Subject(artifact=tiny_file())) as session:
        first = session.run(CASE)
        next(first), next(first)
        list(session.run(CASE))
        with pytest.raises(SessionBusyError):
            list(first)


def test_a_closed_session_is_refused(tiny_file: Callable[..., Path]) -> None:
    session = NativeRunner().open(Subject(artifact=tiny_file()))
    session.close()
    session.close()
    with pytest.raises(SessionBusyError):
        list(session.run(CASE))


def test_no_compiler(monkeypatch: pytest.MonkeyPatch, tiny_file: Callable[..., Path]) -> None:
    monkeypatch.setenv("RUSTC", "/nowhere/rustc")
    here = NativeRunner().availability()
    assert not here.available
    assert "rustup" in here.fix
    with pytest.raises(CompilerMissingError):
        NativeRunner().open(Subject(artifact=tiny_file()))


def test_a_compiler_that_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tiny_file: Callable[..., Path]
) -> None:
    script = tmp_path / "rustc"
    script.write_text(
        '#!/bin/sh\n[ "$1" = -V ] && echo fake 1 && exit 0\necho broken >&2\nexit 9\n'
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("RUSTC", str(script))
    monkeypatch.setenv("TRLM_HOME", str(tmp_path / "home"))
    with pytest.raises(NativeBuildError, match="broken"):
        NativeRunner().open(Subject(artifact=tiny_file()))
    assert list((tmp_path / "home" / "native").iterdir()) == []


def test_no_sources(tmp_path: Path) -> None:
    with pytest.raises(RuntimeSourceMissingError):
        runtime_source.source_files(tmp_path)


#: A compiler that writes half of its file, waits until another one does the same, and ends it.
BOTH_AT_ONCE = """#!/bin/sh
[ "$1" = -V ] && echo fake 1 && exit 0
for out; do :; done
echo "first half of $$" > "$out"
: > "$MEETING/$$"
while [ "$(ls "$MEETING" | wc -l)" -lt 2 ]; do sleep 0.05; done
echo "second half of $$" >> "$out"
"""


def test_two_processes_build_one_library(tmp_path: Path) -> None:
    meeting, script = tmp_path / "meeting", tmp_path / "rustc"
    meeting.mkdir()
    script.write_text(BOTH_AT_ONCE)
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    command = [sys.executable, "-m", "trlm_lab.backends.build_native"]
    given = {"TRLM_HOME": str(tmp_path / "home"), "RUSTC": str(script), "MEETING": str(meeting)}
    children = [
        subprocess.Popen(
            command,
            env={**os.environ, **given},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for _ in range(2)
    ]
    printed = [child.communicate()[0].strip() for child in children]
    assert [child.returncode for child in children] == [0, 0]
    assert printed[0] == printed[1]
    compilers = {path.name for path in meeting.iterdir()}
    assert len(compilers) == 2
    # The one file is whole and of one compiler, and nothing of the other is left.
    (first, second) = Path(printed[0]).read_text().splitlines()
    assert first.removeprefix("first half of ") == second.removeprefix("second half of ")
    assert first.removeprefix("first half of ") in compilers
    assert [path.name for path in (tmp_path / "home" / "native").iterdir()] == [
        Path(printed[0]).parent.name
    ]
