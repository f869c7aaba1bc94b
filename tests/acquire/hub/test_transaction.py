"""One transaction against a real server, driven by the Hub's own client."""

import json
import tracemalloc
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save

from tests.acquire.hub.conftest import QUICK, REPO, TREE, WEIGHTS, acquired
from tests.acquire.hub.server import HubServer, Repository
from trlm_lab.acquire import parse_source, verify_snapshot
from trlm_lab.acquire.allow_list import family_list, general_list
from trlm_lab.acquire.hub_snapshot import HubRules, acquire_hub, parse_hub
from trlm_lab.base.home import trlm_home
from trlm_lab.errors import (
    ConflictError,
    FamilyUnsupportedError,
    HubChangedError,
    HubLimitError,
    HubNotFoundError,
    HubSpecError,
    HubUnreachableError,
    Refused,
)
from trlm_lab.flows.checking import approval


def test_every_configuration_file_is_kept(tiny: Repository) -> None:
    snapshot = acquired()
    kept = set(TREE) - {"model.safetensors", ".gitattributes", "picture.png"}
    for name in kept:
        assert (snapshot.root / name).read_bytes() == TREE[name]
    assert load_file(snapshot.root / "model.safetensors")["w"][199, 299] == 59_999
    verify_snapshot(snapshot.root)


def test_whatever_any_family_declares_is_kept(tiny: Repository) -> None:
    """Also what the family's own list does not know: it may contradict the rest."""
    documents = {name: b"{}" for name in general_list().declarations if name not in TREE}
    tiny.commit(TREE | documents)
    snapshot = acquired()
    for name in documents:
        assert (snapshot.root / name).read_bytes() == b"{}"
    facts = snapshot.provenance["allow_list"]
    assert facts["family"] == "llama"
    assert "preprocessor_config.json" in facts["beyond"]
    assert "tokenizer.model" not in facts["beyond"]


def test_gemma_has_a_list_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(b'{"model_type": "gemma3_text"}')
    listed = family_list(tmp_path / "config.json")
    assert listed.family == "gemma3_text"
    # Its tokenizer has 33 MB, and its table of 6,415 added tokens a megabyte.
    assert not listed.problem("tokenizer.json", 33_384_568)
    assert not listed.problem("tokenizer_config.json", 1_155_375)
    assert listed.problem("generation_config.json", 2 << 20)
    assert listed.to_map(["vocab.txt"])["beyond"] == ["vocab.txt"]


def test_a_family_without_a_list_has_the_general_one(tiny: Repository) -> None:
    tiny.commit(TREE | {"config.json": b'{"model_type": "mamba"}', "vocab.txt": b""})
    facts = acquired().provenance["allow_list"]
    assert (facts["family"], facts["beyond"]) == ("general", [])


def test_a_document_larger_than_any_of_its_family(tiny: Repository, hub: HubServer) -> None:
    large = b"{}" + b" " * (1 << 20)
    tiny.commit(TREE | {"generation_config.json": large})
    with pytest.raises(HubLimitError, match="the allow-list of llama has 1048576 at most"):
        acquired()
    assert set(hub.sent) == {"README.md", "LICENSE", "config.json"}
    tiny.commit(TREE | {"config.json": b'{"model_type": "mamba"}', "generation_config.json": large})
    assert acquired().root.is_dir()


def test_a_document_larger_than_any(tiny: Repository, hub: HubServer) -> None:
    tiny.commit(TREE | {"config.json": b"{}" + b" " * (4 << 20)})
    with pytest.raises(HubLimitError, match="the allow-list of general"):
        acquired()
    assert hub.sent.total() == 0


def test_branch_and_commit_are_both_recorded(tiny: Repository) -> None:
    hub = acquired(f"{REPO}@main").provenance["hub"]
    assert hub["requested"] == "main"
    assert hub["commit"] == hub["resolved_after"] == tiny.branches["main"]
    assert len(hub["tree"]) == len(TREE)
    assert {row[0] for row in hub["left_out"]} == {".gitattributes", "picture.png"}


def test_files_come_from_the_commit_and_never_from_the_branch(
    tiny: Repository, hub: HubServer
) -> None:
    acquired()
    asked = [path for path in hub.seen if "/resolve/" in path]
    assert asked
    assert all(f"/resolve/{tiny.branches['main']}/" in path for path in asked)


def test_the_tree_is_listed_before_anything_is_fetched(tiny: Repository, hub: HubServer) -> None:
    acquired()
    order = [path for path, _ in hub.headers_seen]
    first_file = next(i for i, path in enumerate(order) if "/resolve/" in path)
    listings = [i for i, path in enumerate(order) if "/tree/" in path]
    assert listings[0] < first_file < listings[-1]
    assert "/revision/" in order[0]
    assert "/revision/" in order[-1]


def test_what_is_not_needed_is_not_fetched(tiny: Repository, hub: HubServer) -> None:
    acquired()
    assert not [path for path in hub.seen if path.endswith((".png", ".gitattributes"))]


def test_a_second_acquisition_fetches_nothing(tiny: Repository, hub: HubServer) -> None:
    first = acquired()
    sent = dict(hub.sent)
    assert acquired().snapshot_id == first.snapshot_id
    assert dict(hub.sent) == sent


def test_a_moved_branch_is_another_snapshot(tiny: Repository) -> None:
    first = acquired()
    tiny.commit(TREE | {"generation_config.json": b'{"eos_token_id": 7}'})
    second = acquired()
    assert second.provenance["hub"]["commit"] != first.provenance["hub"]["commit"]
    assert (first.root / "generation_config.json").read_bytes() == TREE["generation_config.json"]
    verify_snapshot(first.root)


def test_a_branch_that_moves_meanwhile_is_recorded_as_drift(
    tiny: Repository, hub: HubServer
) -> None:
    old = tiny.branches["main"]
    hub.behaviour.after["model.safetensors"] = lambda: tiny.commit(TREE | {"LICENSE": b"other"})
    snapshot = acquired()
    facts = snapshot.provenance["hub"]
    assert facts["commit"] == old
    assert facts["resolved_after"] == tiny.branches["main"] != old
    assert (snapshot.root / "LICENSE").read_bytes() == TREE["LICENSE"]


def test_a_branch_that_is_deleted_meanwhile_is_recorded_too(
    tiny: Repository, hub: HubServer
) -> None:
    commit = tiny.branches["main"]
    hub.behaviour.after["model.safetensors"] = lambda: tiny.branches.pop("main")
    facts = acquired().provenance["hub"]
    assert (facts["commit"], facts["resolved_after"]) == (commit, "")


def test_the_limits_in_force_are_recorded(tiny: Repository) -> None:
    limits = acquired(files=100, redirects=3, seconds=50.0).provenance["hub"]["limits"]
    assert limits == asdict(replace(QUICK, files=100, redirects=3, seconds=50.0))
    assert {"files", "file_bytes", "total_bytes", "depth", "redirects", "seconds"} <= set(limits)


def test_xet_is_offered_and_not_used(tiny: Repository, hub: HubServer) -> None:
    """The Hub marks files that it can reconstruct from chunks; their bytes come plainly."""
    links = {"xet-auth": "/xet-auth", "xet-reconstruction-info": "/cas"}
    offered = ", ".join(f'<{hub.url}{path}>; rel="{rel}"' for rel, path in links.items())
    hub.behaviour.headers = {"X-Xet-Hash": "ab" * 32, "Link": offered}
    snapshot = acquired()
    assert snapshot.file("model.safetensors") is not None
    assert hub.sent["model.safetensors"] == len(WEIGHTS)
    asked = {path.split("/")[1] for path in hub.seen}
    assert asked == {"api", "ada", "store"}


def test_hub_changed(tiny: Repository, hub: HubServer) -> None:
    """A commit that lists other files later is none."""
    commit = tiny.branches["main"]

    def change() -> None:
        tiny.commits[commit]["USE_POLICY.md"] = b"new"

    hub.behaviour.after["model.safetensors"] = change
    with pytest.raises(HubChangedError):
        acquired()
    assert not list((trlm_home() / "snapshots").glob("[!.]*"))


def test_a_tree_that_changed_between_two_runs_is_refused(tiny: Repository, hub: HubServer) -> None:
    hub.behaviour.status["model.safetensors"] = (500, 99)
    with pytest.raises(HubUnreachableError):
        acquired()
    hub.behaviour.status.clear()
    tiny.commits[tiny.branches["main"]]["LICENSE"] = b"another text"
    with pytest.raises(HubChangedError):
        acquired()
    assert acquired().root.is_dir()


@pytest.mark.parametrize("locator", ["ada/none", f"{REPO}@nobranch", f"{REPO}@{'0' * 40}"])
def test_hub_not_found(tiny: Repository, locator: str) -> None:
    with pytest.raises(HubNotFoundError):
        acquired(locator)


@pytest.mark.parametrize(
    "locator", ["tiny", "ada/tiny/x", "", "ada/tiny@", "../x", "ada/tiny@../main", "ada tiny/x"]
)
def test_hub_spec(locator: str) -> None:
    with pytest.raises(HubSpecError) as caught:
        acquired(locator)
    assert caught.value.where == f"hf:{locator}"


UPPER = "0123456789ABCDEF" + "0" * 24


@pytest.mark.parametrize(
    ("locator", "detail", "fix"),
    [
        (f"{REPO}@{UPPER}", "lower-case", f"write hf:{REPO}@{UPPER.lower()}"),
        (f"{REPO}@main ", "white space", f"write hf:{REPO}@main"),
        (f" {REPO}", "white space", f"write hf:{REPO}"),
        (f"{REPO}@", "no revision stands after", f"write hf:{REPO} or hf:{REPO}@main"),
        (f"{REPO}@a b", "no branch, tag or commit", "write hf:owner/name or"),
    ],
)
def test_what_is_nearly_right_is_told_how_to_be_right(locator: str, detail: str, fix: str) -> None:
    with pytest.raises(HubSpecError, match=detail) as caught:
        parse_source(f"hf:{locator}")
    assert caught.value.remedy.startswith(fix)


def test_the_beginning_of_a_commit_id(tiny: Repository) -> None:
    """It may be a branch's name, so only the Hub can say that it is none."""
    short = tiny.branches["main"][:8]
    with pytest.raises(HubNotFoundError, match="write all 40 digits"):
        acquired(f"{REPO}@{short}")
    tiny.branches[short] = tiny.branches["main"]
    assert acquired(f"{REPO}@{short}").provenance["hub"]["requested"] == short


def test_the_token_comes_from_the_environment_alone(
    tiny: Repository, hub: HubServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tiny.token = "hf_made_up"
    stored = tmp_path / "hf-home" / "token"
    stored.parent.mkdir(parents=True)
    stored.write_text(tiny.token)
    with pytest.raises(HubNotFoundError):
        acquired()
    assert not [h for _, h in hub.headers_seen if "Authorization" in h]
    monkeypatch.setenv("HF_TOKEN", tiny.token)
    snapshot = acquired()
    kept = [p for p in trlm_home().rglob("*") if p.is_file()]
    assert not [p for p in kept if tiny.token.encode() in p.read_bytes()]
    assert tiny.token not in json.dumps(snapshot.provenance, default=str)


def test_an_endpoint_that_nobody_serves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("TRLM_HOME", str(tmp_path))
    with pytest.raises(HubUnreachableError):
        acquired()


def peak_of(tiny: Repository, hub: HubServer, elements: int, *, kept: bool) -> int:
    """Bytes that an acquisition of weights of that many float32 holds at once; `kept`: of weights
    that an earlier one fetched, and that are hashed again."""
    tiny.commit(TREE | {"model.safetensors": save({"w": np.zeros(elements, np.float32)})})
    if kept:
        hub.behaviour.status["tokenizer.json"] = (500, 99)
        with pytest.raises(HubUnreachableError):
            acquired()
        hub.behaviour.status.clear()
    tracemalloc.start()
    acquired()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.slow
@pytest.mark.parametrize("kept", [False, True])
def test_memory_does_not_grow_with_the_file(tiny: Repository, hub: HubServer, kept: bool) -> None:
    acquired()  # what is imported late is imported
    small, large = (peak_of(tiny, hub, n << 20, kept=kept) for n in (10, 18))
    # 32 MiB more to fetch, hash, check and convert; both are more than is converted at once.
    assert large - small < 1 << 20


def test_weights_are_those_that_were_served(tiny: Repository, hub: HubServer) -> None:
    acquired()
    assert hub.sent["model.safetensors"] == len(WEIGHTS)


@pytest.mark.parametrize(
    ("config", "error"),
    [
        (
            b'"mamba", "architectures": ["MambaForCausalLM"], "eos_token_id": 2',
            FamilyUnsupportedError,
        ),
        (b'"llama", "architectures": ["LlamaForCausalLM"], "eos_token_id": 3', ConflictError),
    ],
)
def test_what_the_declarations_refuse_needs_no_weights(
    tiny: Repository, hub: HubServer, config: bytes, error: type[Refused]
) -> None:
    tree = TREE | {"config.json": b'{"model_type": ' + config + b', "vocab_size": 8}'}
    tiny.commit({k: v for k, v in tree.items() if k != "tokenizer.json"})
    with pytest.raises(error):
        acquire_hub(parse_hub(REPO), lambda *_: None, approval(), HubRules(limits=QUICK))
    assert "config.json" in hub.sent
    assert "model.safetensors" not in hub.sent
