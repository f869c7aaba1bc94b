"""llama.cpp as a peer: its export holds the source's own bits, its logits are within the limits."""

import io
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from trlm_lab.backends import build_peer, llama_cpp, llama_cpp_sdist
from trlm_lab.backends.llama_cpp import LlamaCppRunner
from trlm_lab.backends.llama_cpp_export import export_of
from trlm_lab.backends.llama_cpp_gguf import LlamaKeys, interleaved_rows
from trlm_lab.backends.llama_cpp_process import refusal
from trlm_lab.backends.safetensors_weights import model_dir_tensors
from trlm_lab.base import strict_json
from trlm_lab.base.interfaces import Runner, Subject
from trlm_lab.base.records import SOUND, Case, CaseSuite, Outcome
from trlm_lab.base.records.outcome import outcome_of_error
from trlm_lab.bisection import find_first_mismatch
from trlm_lab.errors import (
    CaseNotSupportedError,
    ModelFilesError,
    PeerBuildError,
    PeerMissingError,
    UnsupportedModelError,
)
from trlm_lab.flows.acquisition import Described, Source
from trlm_lab.flows.packing import Packed
from trlm_lab.flows.progress import Board
from trlm_lab.flows.trial import oracle_and_policy, record
from trlm_lab.flows.workspace import Workspace

SUITE = CaseSuite("judged", (Case("one", (7,)), Case("nine", (12, 500, 77, 3, 3, 250, 401, 9, 64))))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRLM_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def changed_config(model_dir: Path, target: Path, **fields: object) -> Path:
    row = strict_json.load_object(model_dir / "config.json")
    (target / "config.json").write_bytes(strict_json.pretty({**row, **fields}))
    return target


def test_interleaving_turns_half_split_pairs_into_neighbours() -> None:
    rows = np.arange(8, dtype=np.float32)[:, None] * np.ones(3, dtype=np.float32)
    # Two heads of four rows: 0 1 2 3 pairs 0 with 2 and 1 with 3.
    assert interleaved_rows(rows, 2)[:, 0].tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


@pytest.mark.peer
def test_the_export_holds_the_source_bits(
    require: Callable[[Runner], None], home: Path, small_source: Source
) -> None:
    require(LlamaCppRunner())
    import gguf

    path = export_of(small_source.root).gguf
    source = model_dir_tensors(small_source.root)
    found = {t.name: t.data for t in gguf.GGUFReader(path).tensors}
    assert len(found) == 2 + 9 * 4
    for ours, theirs in (
        ("token_embd.weight", "model.embed_tokens.weight"),
        ("blk.3.ffn_down.weight", "model.layers.3.mlp.down_proj.weight"),
        ("blk.0.attn_norm.weight", "model.layers.0.input_layernorm.weight"),
    ):
        assert found[ours].tobytes() == np.asarray(source[theirs][:]).tobytes()
    query = np.asarray(source["model.layers.1.self_attn.q_proj.weight"][:])
    assert found["blk.1.attn_q.weight"].tobytes() == interleaved_rows(query, 6).tobytes()
    assert not np.array_equal(found["blk.1.attn_q.weight"], query)


@pytest.mark.peer
def test_the_export_is_cached_by_content_and_checked(
    require: Callable[[Runner], None], home: Path, small_source: Source
) -> None:
    require(LlamaCppRunner())
    path = export_of(small_source.root).gguf
    whole, made = path.read_bytes(), path.stat().st_ino
    assert export_of(small_source.root).gguf.stat().st_ino == made
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert export_of(small_source.root).gguf.read_bytes() == whole
    assert not list(path.parent.glob(".tmp-*"))


@pytest.mark.parametrize(
    "fields",
    [
        {"model_type": "gemma3"},
        {"attention_bias": True},
        {"rope_scaling": {"rope_type": "yarn"}},
        {"rope_parameters": {"rope_type": "llama3", "rope_theta": 1e4}},
        {"sliding_window": 512},
    ],
)
def test_what_the_export_does_not_carry_over_is_refused(
    tmp_path: Path, small_source: Source, fields: dict[str, object]
) -> None:
    with pytest.raises(UnsupportedModelError):
        LlamaKeys.read(changed_config(small_source.root, tmp_path, **fields))


def test_both_spellings_of_the_rope_base(tmp_path: Path, small_source: Source) -> None:
    inside = {"rope_type": "default", "rope_theta": 5e4}
    model_dir = changed_config(small_source.root, tmp_path, rope_theta=None, rope_parameters=inside)
    assert LlamaKeys.read(model_dir).theta == 5e4
    assert LlamaKeys.read(small_source.root).theta == 1e4


def test_a_configuration_without_a_field(tmp_path: Path, small_source: Source) -> None:
    with pytest.raises(ModelFilesError):
        LlamaKeys.read(changed_config(small_source.root, tmp_path, rms_norm_eps=None))


def test_cases_that_it_cannot_run() -> None:
    assert refusal({"case_id": "a", "token_ids": [1, 2], "attention_mask": [1, 1]}) is None
    assert refusal({"case_id": "a", "token_ids": [1, 2], "position_ids": [0, 1]}) is None
    assert refusal({"case_id": "a", "token_ids": [1, 2], "attention_mask": [0, 1]})
    assert refusal({"case_id": "a", "token_ids": [1, 2], "position_ids": [1, 2]})
    assert refusal({"case_id": "a", "token_ids": [1, 2], "window": 4})


@pytest.mark.peer
def test_its_logits_are_sound_against_the_oracle(
    require: Callable[[Runner], None],
    workspace: Workspace,
    small_source: Source,
    small_described: Described,
    small_artifacts: dict[str, Packed],
) -> None:
    require(LlamaCppRunner())
    artifact = small_artifacts["f32"].artifact.path
    oracle, policy = oracle_and_policy(
        workspace, small_source.root, artifact, small_described.config, SUITE
    )
    candidate = record(
        LlamaCppRunner(), Subject(model_dir=small_source.root), SUITE, Board(quiet=True)
    )
    assert set(candidate.names("nine")) == {
        "token_ids",
        "logits",
        "logits.topk_ids",
        "logits.topk_values",
    }
    assert find_first_mismatch(oracle, candidate, policy).verdict in SOUND


@pytest.mark.peer
def test_a_case_with_a_mask_is_not_supported(
    require: Callable[[Runner], None], small_source: Source
) -> None:
    require(LlamaCppRunner())
    masked = Case("masked", (1, 2), attention_mask=(1, 0))
    with LlamaCppRunner().open(Subject(model_dir=small_source.root)) as session:
        session.prepare([masked, *SUITE.cases])
        assert session.identity.name == "llama.cpp"
        with pytest.raises(CaseNotSupportedError):
            list(session.run(masked))


def test_absent_it_is_not_supported_with_the_command(
    monkeypatch: pytest.MonkeyPatch, small_source: Source
) -> None:
    monkeypatch.setattr(llama_cpp.util, "find_spec", lambda name: None)
    runner = LlamaCppRunner()
    assert not runner.availability().available
    assert runner.availability().fix == "make peers"
    with pytest.raises(PeerMissingError) as caught:
        runner.open(Subject(model_dir=small_source.root))
    assert outcome_of_error(caught.value.code) is Outcome.NOT_SUPPORTED
    assert "make peers" in caught.value.text


def test_another_version_is_another_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llama_cpp.util, "find_spec", lambda name: object())
    monkeypatch.setattr(llama_cpp.metadata, "version", lambda name: "0.3.1")
    assert "0.3.1" in LlamaCppRunner().availability().reason


def test_a_failed_build_says_how_and_leaves_no_wheel(home: Path, tmp_path: Path) -> None:
    broken = tmp_path / "llama_cpp_python-0.3.36.tar.gz"
    broken.write_bytes(b"no archive")
    with pytest.raises(PeerBuildError) as caught:
        build_peer.build_wheel(broken)
    assert "exit status" in caught.value.text
    assert "make peers" in caught.value.text
    assert build_peer.cached_wheel() is None
    assert list(build_peer.wheel_room().iterdir()) == []


def test_a_failed_fetch_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llama_cpp_sdist, "REQUIREMENT", "no such requirement ==")
    with pytest.raises(PeerBuildError, match="fetching the sources"):
        llama_cpp_sdist.fetch_sdist(tmp_path)
    assert not list(tmp_path.glob("*.tar.gz"))


def test_a_finished_wheel_is_taken(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = build_peer.wheel_room() / f"llama_cpp_python-{llama_cpp.VERSION}-py3-none-any.whl"
    wheel.parent.mkdir(parents=True)
    wheel.write_bytes(b"")
    installed: list[Path] = []
    monkeypatch.setattr(build_peer, "missing_part", lambda: "it is missing")
    monkeypatch.setattr(build_peer, "install", installed.append)
    llama_cpp_sdist.converter_room().mkdir(parents=True)
    assert build_peer.main() == 0
    assert installed == [wheel]


def test_the_converter_is_fetched_beside_an_installed_peer(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_peer, "missing_part", lambda: None)
    monkeypatch.setattr(build_peer, "_loads", lambda: True)
    monkeypatch.setattr(build_peer, "fetch_sdist", lambda scratch: _sdist(tmp_path))
    assert build_peer.main() == 0
    room = llama_cpp_sdist.converter_room()
    found = sorted(str(file.relative_to(room)) for file in room.rglob("*") if file.is_file())
    # Nothing else of the archive is kept.
    assert found == ["LICENSE", "conversion/base.py", "gguf-py/gguf/a.py"]
    assert [child.name for child in room.parent.iterdir()] == [room.name]


def _sdist(folder: Path) -> Path:
    path = folder / "sdist.tar.gz"
    names = ("LICENSE", "conversion/base.py", "gguf-py/gguf/a.py", "src/llama.cpp", "gguf-py/b.py")
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            root = f"llama_cpp_python-{llama_cpp.VERSION}/vendor/llama.cpp"
            archive.addfile(tarfile.TarInfo(f"{root}/{name}"), io.BytesIO())
    return path


def test_the_wheel_of_another_processor_is_not_taken(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = build_peer.wheel_room()
    monkeypatch.setattr(build_peer, "_processor_features", lambda: "sse2")
    assert build_peer.wheel_room() != here


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.peer
def test_smollm2_agrees_with_torch(
    require: Callable[[Runner], None],
    workspace: Workspace,
    smollm2_source: Source,
    smollm2_artifacts: dict[str, Packed],
) -> None:
    require(LlamaCppRunner())
    suite = CaseSuite("smollm2", (replace(SUITE.cases[1], case_id="smollm2-nine"),))
    packed = smollm2_artifacts["f32"].artifact
    oracle, policy = oracle_and_policy(
        workspace, smollm2_source.root, packed.path, packed.config, suite
    )
    candidate = record(
        LlamaCppRunner(2), Subject(model_dir=smollm2_source.root), suite, Board(quiet=True)
    )
    assert find_first_mismatch(oracle, candidate, policy).verdict in SOUND
