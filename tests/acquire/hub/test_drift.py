"""What a source says now: an observation, with every change of behaviour by field."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.acquire.hub.conftest import QUICK, REPO, TREE, acquired
from tests.acquire.hub.server import Repository, git_sha1
from trlm_lab.acquire import Drift, acquire, newest_snapshot, observe, recorded_pin, verify_snapshot
from trlm_lab.acquire.json_changes import json_changes
from trlm_lab.errors import (
    DriftReviewError,
    NotAcquiredError,
    NotObservableError,
    SourceMissingError,
)
from trlm_lab.flows.cli.app import run
from trlm_lab.flows.drift import observe_source
from trlm_lab.receipts import ReceiptStore, verify_store

SPEC = f"hf:{REPO}"
CARD = b"---\nlicense: apache-2.0\n---\nnew"


def drift() -> Drift:
    return observe(newest_snapshot(recorded_pin(SPEC)), SPEC, QUICK)


def test_nothing_moved(tiny: Repository) -> None:
    acquired()
    assert not drift().moved
    assert drift().changes == ()


def test_a_changed_eos_is_behaviour_and_named_by_field(tiny: Repository) -> None:
    snapshot = acquired()
    tiny.commit(TREE | {"generation_config.json": b'{"eos_token_id": [2, 7]}'})
    seen = drift()
    assert seen.behaviour
    (change,) = seen.changes
    assert (change.path, change.change) == ("generation_config.json", "changed")
    assert change.fields == (("/eos_token_id", "2", "[2, 7]"),)
    assert seen.pinned == snapshot.provenance["hub"]["commit"]
    verify_snapshot(snapshot.root)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("README.md", "licence"),
        ("docs/README.md", "unreviewed"),
        ("LICENSE", "licence"),
        ("NOTICE", "licence"),
        ("LICENSE-MODEL", "licence"),
        ("licensed_model.xyz", "behaviour"),
        ("additional_chat_templates/tools.jinja", "behaviour"),
        ("model.safetensors", "behaviour"),
        ("tokenizer.json", "behaviour"),
        ("picture.png", "unreviewed"),
        ("unknown.yaml", "behaviour"),
        ("modeling_tiny.py", "behaviour"),
    ],
)
def test_every_kind_of_file(tiny: Repository, path: str, kind: str) -> None:
    acquired()
    tiny.commit(TREE | {path: b"something else"})
    seen = drift()
    (change,) = seen.changes
    assert (change.path, change.kind) == (path, kind)
    assert change.change == ("changed" if path in TREE else "added")
    assert seen.behaviour == (kind == "behaviour")


def review_file(file: Path, **changes: Any) -> Path:
    row = {
        "path": "README.md",
        "content": git_sha1(CARD),
        "reason": "a spelling correction",
        "reviewer": "Ada",
    }
    file.write_text(json.dumps({"schema": "trlm.drift_review.v1", "reviews": [row | changes]}))
    return file


def test_a_card_is_documentary_only_after_review(tiny: Repository, tmp_path: Path) -> None:
    acquired()
    tiny.commit(TREE | {"README.md": CARD})
    assert not observe_source(SPEC, limits=QUICK)[0].settled
    seen, _ = observe_source(SPEC, limits=QUICK, reviews=review_file(tmp_path / "r.json"))
    assert seen.settled
    assert seen.moved
    assert seen.changes[0].review == "a spelling correction (Ada)"


@pytest.mark.parametrize(
    ("card", "now"),
    [
        (b"---\nlicense: mit\n---\n# Tiny\n", "mit"),
        (b"# Tiny\n", "none"),
        (b"---\nlicense: mit\nlicense: apache-2.0\n---\n", "not to be told"),
    ],
)
def test_a_card_with_other_terms_is_no_documentary_change(
    tiny: Repository,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    card: bytes,
    now: str,
) -> None:
    acquired()
    tiny.commit(TREE | {"README.md": card})
    (change,) = drift().changes
    assert (change.kind, change.fields) == ("licence", (("license", "apache-2.0", now),))
    with pytest.raises(DriftReviewError, match="licence"):
        observe_source(
            SPEC, limits=QUICK, reviews=review_file(tmp_path / "r.json", content=git_sha1(card))
        )
    assert run(["drift", SPEC, "--dir", str(tmp_path / "store")]) == 1
    assert "a decision on the new ones" in capsys.readouterr().out


def test_a_name_that_is_gone_is_an_observation(
    tiny: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    snapshot = acquired()
    tiny.branches.clear()
    seen, node = observe_source(SPEC, tmp_path / "store", limits=QUICK)
    assert (seen.gone, seen.moved, seen.settled, seen.behaviour) == (True, True, False, False)
    stored = ReceiptStore(tmp_path / "store").get(node)
    assert stored.metadata["observed"] == "gone"
    assert run(["drift", SPEC, "--dir", str(tmp_path / "store")]) == 1
    assert "what was acquired stands" in capsys.readouterr().out
    verify_snapshot(snapshot.root)


@pytest.mark.parametrize(
    "changes",
    [
        {"content": git_sha1(b"old")},
        {"reason": ""},
        {"reviewer": 1},
        {"extra": "x"},
        {"reviewer": "\u200b"},
        {"reason": "?"},
    ],
)
def test_drift_review(tiny: Repository, tmp_path: Path, changes: dict[str, Any]) -> None:
    acquired()
    tiny.commit(TREE | {"README.md": CARD})
    with pytest.raises(DriftReviewError):
        observe_source(SPEC, limits=QUICK, reviews=review_file(tmp_path / "r.json", **changes))


def test_no_review_makes_behaviour_documentary(tiny: Repository, tmp_path: Path) -> None:
    acquired()
    tiny.commit(TREE | {"generation_config.json": b"{}"})
    file = review_file(tmp_path / "r.json", path="generation_config.json", content=git_sha1(b"{}"))
    with pytest.raises(DriftReviewError, match="behaviour"):
        observe_source(SPEC, limits=QUICK, reviews=file)


def test_a_removed_file(tiny: Repository) -> None:
    acquired()
    tiny.commit({k: v for k, v in TREE.items() if k != "generation_config.json"})
    assert [(c.path, c.change) for c in drift().changes] == [("generation_config.json", "removed")]


def test_a_removed_card_is_reviewed_as_gone(tiny: Repository, tmp_path: Path) -> None:
    acquired()
    tiny.commit({k: v for k, v in TREE.items() if k != "README.md"})
    gone = review_file(tmp_path / "r.json", content="gone")
    assert observe_source(SPEC, limits=QUICK, reviews=gone)[0].settled
    with pytest.raises(DriftReviewError, match="the content is gone"):
        observe_source(SPEC, limits=QUICK, reviews=review_file(tmp_path / "other.json"))


def test_a_list_of_reviews_may_grow(tiny: Repository, tmp_path: Path) -> None:
    acquired()
    tiny.commit(TREE | {"README.md": CARD})
    file = review_file(tmp_path / "r.json")
    rows = json.loads(file.read_text())
    rows["reviews"].append(rows["reviews"][0] | {"content": git_sha1(b"newer")})
    file.write_text(json.dumps(rows))
    assert observe_source(SPEC, limits=QUICK, reviews=file)[0].settled
    for again in (rows["reviews"][0], rows["reviews"][0] | {"reviewer": "Eve"}):
        file.write_text(json.dumps({**rows, "reviews": [*rows["reviews"], again]}))
        with pytest.raises(DriftReviewError, match="keep one of the two") as caught:
            observe_source(SPEC, limits=QUICK, reviews=file)
        assert caught.value.where == f"{file}#/reviews/2"


def test_an_observation_is_a_receipt_and_mutates_nothing(tiny: Repository, tmp_path: Path) -> None:
    acquired()
    tiny.commit(TREE | {"README.md": CARD})
    store = ReceiptStore(tmp_path / "store")
    before = {"time_blob": store.put_value("before")}
    kept = store.add("observation", before, [])
    seen, node = observe_source(SPEC, tmp_path / "store", QUICK)
    facts = store.get(node)
    assert facts.type == "drift"
    assert store.get_value(facts.metadata["changes_blob"]) == seen.to_map()
    assert store.get(kept).metadata == before
    assert "utc" not in str(facts.metadata)
    report = verify_store(tmp_path / "store")
    assert [f.code for f in report.findings if f.level == "error"] == ["RECEIPT_MISSING"]


def test_not_acquired(tiny: Repository) -> None:
    with pytest.raises(NotAcquiredError):
        observe_source(SPEC)


def test_not_observable(tiny: Repository) -> None:
    acquire("synthetic:llama-small")
    with pytest.raises(NotObservableError):
        observe_source("synthetic:llama-small")


def test_a_directory_that_changed(tiny: Repository, tmp_path: Path) -> None:
    model = tmp_path / "model"
    for name, data in TREE.items():
        (model / name).parent.mkdir(parents=True, exist_ok=True)
        (model / name).write_bytes(data)
    acquire(str(model))
    assert not observe_source(str(model))[0].moved
    (model / "config.json").write_text(json.dumps({"model_type": "llama", "eos_token_id": 3}))
    (model / "added_tokens.json").write_text("{}")
    (model / "LICENSE").unlink()
    seen, _ = observe_source(f"dir:{model}")
    rows = {(c.path, c.change, c.fields) for c in seen.changes}
    assert rows == {
        ("config.json", "changed", (("/eos_token_id", "", "3"),)),
        ("added_tokens.json", "added", ()),
        ("LICENSE", "removed", ()),
    }
    (model / "notes.txt").write_text("of no interest")
    acquire(str(model))
    assert not observe_source(str(model))[0].moved
    (model / "notes.txt").write_text("of some interest")
    (change,) = observe_source(str(model))[0].changes
    digest = hashlib.sha256(b"of some interest").hexdigest()
    assert (change.path, change.change, change.content) == ("notes.txt", "changed", digest)
    # A snapshot of an earlier version holds names alone.
    snapshot = newest_snapshot(recorded_pin(str(model)))
    names = [row["name"].decode() for row in snapshot.provenance["ignored"]]
    earlier = replace(snapshot, provenance=snapshot.provenance | {"ignored": names})
    assert observe(earlier, str(model)).changes == ()
    model.rename(tmp_path / "elsewhere")
    with pytest.raises(SourceMissingError):
        observe_source(f"dir:{model}")


@pytest.mark.parametrize(
    ("old", "new", "rows"),
    [
        (b'{"a": 1}', b'{"a": 1}', ()),
        (b'{"a": 1}', b'{"a": 1.0}', (("/a", "1", "1.0"),)),
        (b'{"a": 1}', b'{"a": true}', (("/a", "1", "true"),)),
        (b'{"a": null}', b"{}", (("/a", "null", ""),)),
        (b'{"a/b": {"~": [1, 2]}}', b'{"a/b": {"~": [1, 3]}}', (("/a~1b/~0/1", "2", "3"),)),
        (b'{"a": [1]}', b'{"a": [1, 2]}', (("/a", "[1]", "[1, 2]"),)),
        (b"{}", b"{", (("", "", "not comparable: JSON"),)),
    ],
)
def test_json_changes(old: bytes, new: bytes, rows: tuple[tuple[str, str, str], ...]) -> None:
    assert json_changes(old, new) == rows


def test_many_changes_are_counted_not_listed() -> None:
    new = json.dumps({str(i): i for i in range(1000)}).encode()
    rows = json_changes(b"{}", new)
    assert len(rows) == 51
    assert rows[-1][2] == "and more"
