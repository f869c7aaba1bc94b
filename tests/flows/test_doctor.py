"""`trlm doctor --json` has exactly the form that other programs rely on."""

import pytest

from trlm_lab.base.interfaces import Runner
from trlm_lab.base.records import Availability
from trlm_lab.errors import CompilerMissingError
from trlm_lab.flows import doctor
from trlm_lab.flows.engines import ENGINES

FIELDS = {"name": str, "version": str, "available": bool, "features": list, "fix": str}


def test_every_row_has_the_five_fields() -> None:
    document = doctor.examine()
    for row in document["engines"]:
        assert {k: type(v) for k, v in row.items()} == FIELDS
        assert all(isinstance(f, str) for f in row["features"])
        # Present with a version, or absent with a way to get it.
        assert bool(row["version"]) == row["available"] or row["fix"]
        assert row["available"] != bool(row["fix"])
    names = [row["name"] for row in document["engines"]]
    assert len(names) == len(set(names))
    assert {"reference", "native-scalar", "wasm-scalar@wasmtime", "wasm-scalar@chromium", "torch",
            "process:COMMAND", "native-simd", "wasm-simd@wasmtime", "wasm-simd@chromium",
            "native-threads", "webgpu@chromium", "webgpu@wgpu"} <= set(names)  # fmt: skip


def test_planned_engines_say_what_they_wait_for() -> None:
    document = doctor.examine()
    rows = {row["name"]: row for row in document["engines"]}
    for name, words in document["planned"].items():
        assert name not in ENGINES
        assert not rows[name]["available"]
        assert rows[name]["fix"].endswith(f"waits for {words}")


@pytest.mark.parametrize(
    "error",
    [
        CompilerMissingError(where="PATH", command="install Rust"),
        ImportError("No module named 'wasmtime'"),
    ],
)
def test_an_engine_that_is_missing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    class Missing:
        def availability(self) -> Availability:
            raise error

    def find(name: str) -> Runner:
        return Missing()  # type: ignore[return-value]

    monkeypatch.setattr(doctor, "runner", find)
    document = doctor.examine()
    row = next(r for r in document["engines"] if r["name"] == "native-scalar")
    assert not row["available"]
    assert row["fix"]
    assert document["missing"]["native-scalar"]


def test_published_tokenizers() -> None:
    rows = doctor.examine()["tokenizer_data"]
    assert {"qwen3", "llama.cpp", "sentencepiece"} <= {row["name"] for row in rows}
    for row in rows:
        assert row["available"] != bool(row["fix"])
