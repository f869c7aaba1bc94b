"""Resolution files settle the one conflict that they name, and nothing else."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.describe.conftest import tokenizer_json
from trlm_lab import errors
from trlm_lab.base import canon
from trlm_lab.describe import (
    Resolution,
    describe,
    detect_conflicts,
    load_resolution,
    require_consistent,
)

Tree = Callable[..., Path]

DEVIATION = "The turn token ends a turn too, as the model card says in words."
SOURCE = {"address": "https://example.org/card", "quote": "stop at 3 or 4", "sha256": "ab" * 32}


def conflicting(tree: Tree) -> Path:
    return tree(generation={"eos_token_id": [3, 4]})


def document(root: Path, **changes: Any) -> dict[str, Any]:
    receipt = detect_conflicts(root)
    stop = receipt.stops[0]
    return {
        "schema": "trlm.resolution.v1",
        "conflict_id": receipt.conflict_id(stop),
        "code": stop.code,
        "field": stop.field,
        "kind": "normative_choice",
        "value": [4, 3],
        "reviewer": "A. Reviewer",
        "deviation": DEVIATION,
        **changes,
    }


def loaded(root: Path, row: Any, name: str = "r.json") -> Resolution:
    # The files lie outside the model directory: they are no part of the source.
    folder = root.parent / f"{root.name}-resolutions"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(row))
    return load_resolution(folder / name)


def test_a_normative_choice_settles_its_conflict_and_shows(tree: Tree, defaults: Any) -> None:
    root = conflicting(tree)
    resolution = loaded(root, document(root))
    described = describe(root, defaults(), [resolution])
    assert described.config.eos_token_id == (3, 4)
    receipt = described.receipt
    assert receipt.verdict == "accept"
    assert [f.level for f in receipt.findings if f.code == "EOS_CONFLICT"] == ["resolved"]
    assert receipt.deviations == (f"eos_token_id = [4, 3] by our choice: {DEVIATION}",)
    row = canon.decode(canon.encode(receipt.to_map()))["resolutions"][0]
    data = (root.parent / f"{root.name}-resolutions" / "r.json").read_bytes()
    assert row["file_sha256"] == canon.sha256_hex(data)
    assert row["statement"] == receipt.deviations[0]
    chosen = next(e.chosen for e in receipt.evidence if e.field == "eos_token_id")
    assert chosen == [3, 4]


def test_a_publishers_word_is_quoted(tree: Tree) -> None:
    root = conflicting(tree)
    row = document(root, kind="publisher_resolution", source=SOURCE)
    del row["deviation"]
    receipt = detect_conflicts(root, None, [loaded(root, row)])
    assert receipt.deviations == (
        "eos_token_id = [4, 3] by the publisher's word: “stop at 3 or 4” "
        "(https://example.org/card)",
    )


def test_the_same_file_settles_an_acquisition(tree: Tree) -> None:
    root = conflicting(tree)
    with pytest.raises(errors.ConflictError, match="EOS_CONFLICT"):
        require_consistent(root, None)
    assert require_consistent(root, None, resolutions=[loaded(root, document(root))]).stops == ()


def test_it_settles_exactly_one(tree: Tree) -> None:
    root = tree(generation={"eos_token_id": [3, 4], "bos_token_id": 4})
    receipt = detect_conflicts(root)
    eos = next(f for f in receipt.stops if f.code == "EOS_CONFLICT")
    row = document(root, conflict_id=receipt.conflict_id(eos), code=eos.code, field=eos.field)
    left = detect_conflicts(root, None, [loaded(root, row)])
    assert [f.code for f in left.stops] == ["BOS_CONFLICT"]
    assert "bos" not in left.chosen_ids


def test_a_changed_declaration_is_another_conflict(tree: Tree) -> None:
    root = conflicting(tree)
    resolution = loaded(root, document(root))
    tree(generation={"eos_token_id": [3, 2]})
    with pytest.raises(errors.ResolutionUnmatchedError, match="no open conflict is EOS_CONFLICT"):
        detect_conflicts(root, None, [resolution])


def test_a_settled_or_absent_conflict_cannot_be_settled_again(tree: Tree) -> None:
    root = conflicting(tree)
    one = loaded(root, document(root))
    with pytest.raises(errors.ResolutionUnmatchedError, match="two files settle"):
        detect_conflicts(root, None, [one, loaded(root, document(root, value=[3]), "s.json")])
    other = loaded(root, document(root, field="bos_token_id"), "t.json")
    with pytest.raises(errors.ResolutionUnmatchedError, match="EOS_CONFLICT of bos_token_id"):
        detect_conflicts(root, None, [other])


def test_what_the_framework_alone_contradicts_is_settled_too(tree: Tree, defaults: Any) -> None:
    """Before the framework is asked such a resolution settles nothing, and is no error."""
    root, source = tree(), defaults(eos_token_id=[2])
    receipt = detect_conflicts(root, source)
    assert detect_conflicts(root).stops == ()
    (stop,) = receipt.stops
    named = {"conflict_id": receipt.conflict_id(stop), "code": stop.code, "field": stop.field}
    row = {
        "schema": "trlm.resolution.v1",
        **named,
        "kind": "normative_choice",
        "value": [3],
        "reviewer": "A. Reviewer",
        "deviation": DEVIATION,
    }
    one = loaded(root, row)
    assert require_consistent(root, None, resolutions=[one]).resolutions == ()
    assert describe(root, source, [one]).config.eos_token_id == (3,)
    with pytest.raises(errors.ResolutionUnmatchedError, match="open: none"):
        describe(root, defaults(), [one])
    for other in (row | {"conflict_id": "ab" * 32}, row | {"field": "bos_token_id"}):
        with pytest.raises(errors.ResolutionUnmatchedError):
            require_consistent(root, None, resolutions=[loaded(root, other)])


ENDINGS = {
    "a control token that is no stop": ("{{ m.content }}<|turn|>", "EOS_CONFLICT"),
    "nothing that reads": ("{{ m.content", "TEMPLATE_SYNTAX"),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_a_chosen_template_must_fit_the_rest(tree: Tree, name: str) -> None:
    end, code = ENDINGS[name]
    text = "{% for m in messages %}" + end + "{% endfor %}"
    two = [{"name": "default", "template": text}, {"name": "tool", "template": "other"}]
    root = tree(tokenizer_config={"chat_template": two})
    place = "tokenizer_config.json#/chat_template/{}/template"
    row = document(root, value=place.format(0))
    receipt = detect_conflicts(root, None, [loaded(root, row)])
    assert [f.code for f in receipt.stops] == [code]
    other = loaded(root, {**row, "value": place.format(1)}, "other.json")
    assert detect_conflicts(root, None, [other]).verdict == "accept"


def test_a_chosen_template_of_other_words_is_another_conflict(tree: Tree) -> None:
    """Of the same length, in the same place."""
    two = [{"name": n, "template": n} for n in ("first", "other")]
    root = tree(tokenizer_config={"chat_template": two})
    place = "tokenizer_config.json#/chat_template/0/template"
    one = loaded(root, document(root, value=place))
    tree(tokenizer_config={"chat_template": [{"name": "first", "template": "fifth"}, two[1]]})
    with pytest.raises(errors.ResolutionUnmatchedError, match="no open conflict"):
        detect_conflicts(root, None, [one])


def test_a_vocabulary_that_numbers_otherwise_is_another_conflict(tree: Tree) -> None:
    root = conflicting(tree)
    one = loaded(root, document(root))
    changed = tokenizer_json()
    changed["model"]["vocab"] |= {"word": 0, "[UNK]": 1}
    tree(generation={"eos_token_id": [3, 4]}, tokenizer=changed)
    with pytest.raises(errors.ResolutionUnmatchedError, match="no open conflict"):
        detect_conflicts(root, None, [one])


def test_a_template_is_chosen_by_its_place(tree: Tree) -> None:
    two = [{"name": n, "template": n} for n in ("default", "tool")]
    root = tree(tokenizer_config={"chat_template": two})
    place = "tokenizer_config.json#/chat_template/0/template"
    receipt = detect_conflicts(root, None, [loaded(root, document(root, value=place))])
    assert receipt.verdict == "accept"
    assert next(e.chosen for e in receipt.evidence if e.field == "chat_template") == place
    with pytest.raises(errors.ResolutionValueError, match="'elsewhere' is none of"):
        detect_conflicts(root, None, [loaded(root, document(root, value="elsewhere"))])


VALUES = [None, 3, [], [8], [-1], [True], ["3"], [3.0], [2**31]]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_a_value_that_is_no_stop_set_is_refused(tree: Tree, value: Any) -> None:
    root = conflicting(tree)
    with pytest.raises(errors.ResolutionValueError, match=r"eos_token_id: .* is no list of ids"):
        detect_conflicts(root, None, [loaded(root, document(root, value=value))])


def test_one_role_has_one_token(tree: Tree) -> None:
    root = tree(generation={"bos_token_id": 4})
    with pytest.raises(errors.ResolutionValueError, match="only the stop set"):
        detect_conflicts(root, None, [loaded(root, document(root, value=[2, 4]))])


def test_what_no_choice_can_mend_stays(tree: Tree) -> None:
    root = tree(config={"vocab_size": 4})
    receipt = detect_conflicts(root)
    stop = next(f for f in receipt.stops if f.code == "VOCAB_CONFLICT")
    row = document(root, conflict_id=receipt.conflict_id(stop), code=stop.code, field=stop.field)
    with pytest.raises(errors.ResolutionValueError, match="cannot be settled by a choice"):
        detect_conflicts(root, None, [loaded(root, row)])


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "no schema": ({"schema": None}, "no object of schema"),
    "no reviewer": ({"reviewer": " "}, "reviewer is ' '"),
    "an unknown kind": ({"kind": "guess"}, "kind is 'guess'"),
    "an unknown key": ({"extra": 1}, "extra is unknown"),
    "both kinds": ({"source": SOURCE}, "source is unknown"),
    "no id": ({"conflict_id": "abc"}, "no SHA-256"),
    "a short deviation": ({"deviation": "because"}, "no sentence"),
    "a deviation of signs": ({"deviation": ". . ."}, "no sentence"),
    "an unseen deviation": ({"deviation": "\u200b \u200b \u200b"}, "no sentence"),
    "an unseen quote": (
        {"kind": "publisher_resolution", "source": {**SOURCE, "quote": "\u200b"},
         "deviation": ...}, "hold a letter or a digit"
    ),
    "an unseen address": (
        {"kind": "publisher_resolution", "source": {**SOURCE, "address": "…"},
         "deviation": ...}, "hold a letter or a digit"
    ),
    "a source without its hash": (
        {"kind": "publisher_resolution", "source": {"address": "a", "quote": "b"},
         "deviation": ...}, "exactly the keys"
    ),
    "an empty quote": (
        {"kind": "publisher_resolution", "source": {**SOURCE, "quote": ""}, "deviation": ...},
        "are texts",
    ),
    "a hash that is none": (
        {"kind": "publisher_resolution", "source": {**SOURCE, "sha256": "x"}, "deviation": ...},
        "no SHA-256",
    ),
    "no value": ({"value": ...}, "value is missing"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_breaks_the_schema_is_refused(tree: Tree, name: str) -> None:
    changes, words = BROKEN[name]
    root = conflicting(tree)
    row = {k: v for k, v in document(root, **changes).items() if v is not ...}
    with pytest.raises(errors.ResolutionFileError, match=words):
        loaded(root, row)


@pytest.mark.parametrize("row", [[], None, 3, "x", {}])
def test_any_other_document_is_refused(tree: Tree, row: Any) -> None:
    with pytest.raises(errors.ResolutionFileError, match="no object of schema"):
        loaded(tree(), row)
