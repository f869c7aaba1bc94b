"""`trlm exec --out`: the files of two runs never lie together, and nobody's files are lost."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.flows.test_cli import cases_file
from trlm_lab.errors import (
    DirectoryDiffersError,
    DirectoryForeignError,
    PathMissingError,
    ReviewedUnusedError,
    SourceMissingError,
    SubjectMissingError,
)
from trlm_lab.flows.exec_stage import ExecRequest, execute_backend
from trlm_lab.flows.packing import Packed
from trlm_lab.flows.progress import Board
from trlm_lab.flows.reviewed_files import Reviewed
from trlm_lab.traces import SafetensorsTrace

pytestmark = pytest.mark.xdist_group("flows")
QUIET = Board(quiet=True)


@pytest.fixture
def request_here(small_artifacts: dict[str, Packed], tmp_path: Path) -> ExecRequest:
    artifact = small_artifacts["f32"].artifact.path
    return ExecRequest("reference", str(cases_file(tmp_path)), tmp_path / "out", artifact=artifact)


def listing(out: Path) -> list[str]:
    return sorted(p.name for p in out.iterdir())


def test_the_same_inputs_replace_their_earlier_result(request_here: ExecRequest) -> None:
    assert execute_backend(request_here, QUIET)["cases"] == 2
    first = SafetensorsTrace(request_here.out).trace_id
    execute_backend(request_here, QUIET)
    assert listing(request_here.out) == ["a.safetensors", "b.safetensors", "report.json"]
    assert SafetensorsTrace(request_here.out).trace_id == first
    probe = json.loads((request_here.out / "report.json").read_bytes())["probe"]
    assert probe["one_token"]["order"] == "ascending"


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("engine", {"profile": "f64-reference"}),
        ("engine", {"backend": "native-scalar"}),
        ("cases", {"cases": "other"}),
        ("artifact", {"artifact": "other"}),
    ],
)
def test_other_inputs_are_refused(
    request_here: ExecRequest,
    small_artifacts: dict[str, Packed],
    tmp_path: Path,
    part: str,
    other: dict[str, object],
) -> None:
    if other.get("cases"):
        rows = {"schema": "trlm.process.cases.v1", "cases": [{"case_id": "z", "token_ids": [1]}]}
        (tmp_path / "other.json").write_text(json.dumps(rows))
        other = {"cases": str(tmp_path / "other.json")}
    if other.get("artifact"):
        other = {"artifact": small_artifacts["q8_r128"].artifact.path}
    execute_backend(request_here, QUIET)
    before = {p.name: p.read_bytes() for p in request_here.out.iterdir()}
    with pytest.raises(DirectoryDiffersError, match=f"results of the {part} "):
        execute_backend(replace(request_here, **other), QUIET)  # type: ignore[arg-type]
    assert {p.name: p.read_bytes() for p in request_here.out.iterdir()} == before


@pytest.mark.parametrize("name", ["notes.txt", "report.json", "a.safetensors"])
def test_a_strangers_directory_is_refused(request_here: ExecRequest, name: str) -> None:
    request_here.out.mkdir()
    (request_here.out / name).write_text("{}")
    with pytest.raises(DirectoryForeignError):
        execute_backend(request_here, QUIET)
    assert listing(request_here.out) == [name]


def test_a_plain_file_is_refused(request_here: ExecRequest) -> None:
    request_here.out.write_text("x")
    with pytest.raises(DirectoryForeignError):
        execute_backend(request_here, QUIET)


def test_a_failing_engine_leaves_no_half_result(request_here: ExecRequest, tmp_path: Path) -> None:
    execute_backend(request_here, QUIET)
    before = listing(request_here.out)
    broken = tmp_path / "broken.slm"
    broken.write_bytes(b"SLM2")
    failing = replace(request_here, artifact=broken, out=tmp_path / "fresh")
    with pytest.raises(Exception, match="Fix: "):
        execute_backend(failing, QUIET)
    assert not (tmp_path / "fresh").exists()
    assert listing(request_here.out) == before


def test_what_a_killed_exec_left_goes(request_here: ExecRequest) -> None:
    leftover = request_here.out / ".result.4194305.part"
    leftover.mkdir(parents=True)
    (leftover / "a.safetensors").write_text("half")
    execute_backend(request_here, QUIET)
    assert listing(request_here.out) == ["a.safetensors", "b.safetensors", "report.json"]


def test_what_was_reviewed_about_a_source_is_not_passed_over(
    request_here: ExecRequest, tmp_path: Path
) -> None:
    profile = tmp_path / "profile.json"
    profile.write_text('{"schema": "trlm.tree_profile.v1", "exceptions": []}')
    reviewed = Reviewed(tree_profile=profile)
    with pytest.raises(ReviewedUnusedError, match=r"profile\.json: .* reference runs a `\.slm`"):
        execute_backend(replace(request_here, reviewed=reviewed), QUIET)
    assert not request_here.out.exists()


def test_inputs_must_exist(request_here: ExecRequest) -> None:
    with pytest.raises(PathMissingError):
        execute_backend(replace(request_here, artifact=Path("/no/such.slm")), QUIET)
    with pytest.raises(SubjectMissingError):
        execute_backend(replace(request_here, artifact=None), QUIET)
    with pytest.raises(SourceMissingError, match="a directory is expected"):
        execute_backend(replace(request_here, model=Path(request_here.cases)), QUIET)
    assert not request_here.out.exists()
