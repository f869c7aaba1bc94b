"""The house keeps its own rules: contracts, pins, notebooks, silence."""

import json
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from itertools import chain
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from trlm_lab.backends import llama_cpp, peer_steps

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def tracked() -> list[Path]:
    """Files under version control."""
    out = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True
    ).stdout.decode()
    return [ROOT / name for name in out.split("\0") if name and (ROOT / name).is_file()]


def requirement_names(rows: list[str]) -> set[str]:
    """Normalised package names of requirement lines."""
    return {re.split(r"[<>=!~\[; ]", row)[0].lower().replace("_", "-") for row in rows}


def pins() -> dict[str, str]:
    """Version of each pinned package, by normalised name."""
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line]
    assert all(re.match(r"[A-Za-z0-9._-]+==\S+$", line) for line in lines)
    return {canonicalize_name(n): v for n, _, v in (line.partition("==") for line in lines)}


def closure(rows: list[str]) -> dict[str, str]:
    """Version of every installed package that these requirements reach, by normalised name."""
    found: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [Requirement(row) for row in rows]
    while waiting:
        one = waiting.pop()
        for extra in ("", *one.extras):
            if (one.name, extra) in seen:
                continue
            seen.add((one.name, extra))
            try:
                here = metadata.distribution(one.name)
            except metadata.PackageNotFoundError:
                continue  # the peer, where it was not built
            found[canonicalize_name(one.name)] = here.version
            for row in map(Requirement, here.requires or []):
                if row.marker is None or row.marker.evaluate({"extra": extra}):
                    waiting.append(row)
    return found


def test_everything_that_gets_installed_is_pinned() -> None:
    """Not only what pyproject names: all that it brings along, and the tools of the builds."""
    project = PYPROJECT["project"]
    wanted = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    pinned = pins()
    assert requirement_names(wanted) <= set(pinned)
    installed = closure(wanted)
    assert len(installed) > 80
    # A build of torch carries its index in a local part of the version.
    differing = {n: v for n, v in installed.items() if v.partition("+")[0] != pinned.get(n)}
    assert differing == {}
    tools = {"pip", "setuptools", "scikit-build-core", "cmake", "ninja"}
    assert tools <= set(pinned)
    assert pinned["torch"] == "2.13.0"
    assert pinned["llama-cpp-python"] == llama_cpp.VERSION


def test_setup_and_build_use_the_pins() -> None:
    setup = (ROOT / "tools" / "setup.sh").read_text()
    assert setup.count("-m pip") == setup.count("pip --version") + 1
    assert "--build-constraint constraints.txt" in setup
    assert peer_steps.constraints() == ROOT / "constraints.txt"


def test_environment_file_agrees_with_the_project() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    pip_rows = next(row["pip"] for row in environment["dependencies"] if isinstance(row, dict))
    install = next(row for row in pip_rows if row.startswith("-e"))
    extras = set(re.search(r"\[(.*)\]", install)[1].split(","))  # type: ignore[index]
    assert extras == set(PYPROJECT["project"]["optional-dependencies"]) - {"peers"}
    assert "-c constraints.txt" in pip_rows


def test_notebooks_are_thin() -> None:
    notebooks = sorted((ROOT / "notebooks").glob("*.ipynb"))
    assert len(notebooks) >= 6
    for path in notebooks:
        cells = json.loads(path.read_text())["cells"]
        code = [c for c in cells if c["cell_type"] == "code"]
        assert "parameters" in code[0]["metadata"].get("tags", []), f"{path.name}: parameters first"
        for cell in code:
            source = "".join(cell["source"])
            assert cell["outputs"] == [], f"{path.name}: stored outputs"
            assert cell["execution_count"] is None, f"{path.name}: execution count"
            assert not re.search(r"^\s*(def|class) ", source, re.M), f"{path.name}: a definition"


def test_nothing_names_a_machine_or_a_registry() -> None:
    leak = re.compile(
        "|".join(
            [
                r"[/]work[/]", r"[/]tmp[/]lab", r"pypi[.]org", r"registry[.]npm" + "js",
                r"deb[.]debian[.]org", r"files[.]pythonhos" + "ted", r"crates[.]io[/]",
            ]
        )
    )  # fmt: skip
    for path in tracked():
        if path == Path(__file__).resolve() or path.suffix in {".wasm", ".png"}:
            continue
        hit = leak.search(path.read_text(errors="replace"))
        assert hit is None, f"{path.relative_to(ROOT)}: {hit and hit[0]}"


def test_no_weights_are_committed() -> None:
    for path in tracked():
        golden = "golden" in path.parts and path.stat().st_size < 100_000
        assert golden or path.suffix not in {".gguf", ".slm", ".safetensors"}, path
        assert path.stat().st_size < 2_000_000, path


def test_import_is_light() -> None:
    """`import trlm_lab` and the command line's start load no heavy package."""
    heavy = ["torch", "transformers", "matplotlib", "zarr", "xarray", "playwright", "papermill"]
    code = (
        "import sys, trlm_lab, trlm_lab.flows.cli; "
        f"print([m for m in {heavy!r} if m in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout
    assert out.strip() == "[]"


def test_public_names_are_where_they_are_said_to_be() -> None:
    import trlm_lab

    for name in trlm_lab.__all__:
        assert getattr(trlm_lab, name) is not None
    with pytest.raises(AttributeError):
        _ = trlm_lab.no_such_name


@pytest.mark.parametrize("folder", ["trlm_lab", "tests", "kernels_ref", "browser_runner"])
def test_names_say_something(folder: str) -> None:
    banned = {"utils", "util", "helpers", "common", "misc", "core", "manager", "stuff"}
    for path in (ROOT / folder).rglob("*"):
        assert path.stem not in banned, path
