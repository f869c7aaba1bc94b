"""Case suites: the built-in ones, the files of users, and the generator."""

import json
from pathlib import Path
from typing import Any

import pytest

from trlm_lab import errors
from trlm_lab.cases import check_text_cases, load_suite, parse_cases, random_cases, suite_names

SCHEMA = "trlm.process.cases.v1"


def test_the_built_in_suites_are_these() -> None:
    assert suite_names() == [
        "demo-calibration", "demo-judged", "gemma3-calibration", "gemma3-judged",
        "small-calibration", "small-judged", "smoke",
    ]  # fmt: skip
    for name in suite_names():
        assert load_suite(name).name == name


def test_the_judged_suite_covers_what_it_promises() -> None:
    suite = load_suite("demo-judged")
    lengths = [len(c.token_ids) for c in suite.cases]
    assert suite.tokens == 200
    assert len(suite.cases) >= 8
    assert {min(lengths), max(lengths)} == {1, 128}
    assert {c.kind for c in suite.cases} == {"text", "token_ids"}


def test_the_suites_of_the_large_vocabulary() -> None:
    judged, calibration = load_suite("gemma3-judged"), load_suite("gemma3-calibration")
    assert {c.kind for c in judged.cases} == {"text", "token_ids"}
    assert not {c.digest for c in judged.cases} & {c.digest for c in calibration.cases}
    ids = {token for case in judged.cases for token in case.token_ids}
    # The first and the last row of the embedding; logits are a megabyte for each token.
    assert {0, 262_143} <= ids
    assert max(judged.tokens, calibration.tokens) < 150


def test_the_calibration_suite_covers_what_it_promises() -> None:
    suite = load_suite("demo-calibration")
    # With the judged suite these are the demo's 400 tokens.
    assert suite.tokens == 200
    # The largest activations stand at the first token, so many starts are needed.
    assert len({c.token_ids[0] for c in suite.cases}) >= 6
    assert sum("<|im_start|>" in (c.text or "") for c in suite.cases) >= 3
    assert {c.kind for c in suite.cases} == {"text", "token_ids"}


@pytest.mark.parametrize("scale", ["demo", "small"])
def test_calibration_and_judged_cases_are_disjoint(scale: str) -> None:
    judged, calibration = (
        load_suite(f"{scale}-{part}").cases for part in ("judged", "calibration")
    )
    assert not {c.token_ids for c in judged} & {c.token_ids for c in calibration}
    assert not {c.case_id for c in judged} & {c.case_id for c in calibration}


def test_the_small_suites_fit_the_small_model() -> None:
    for name in ("small-judged", "small-calibration", "smoke"):
        for case in load_suite(name).cases:
            assert max(case.token_ids) < 512
            assert 1 <= len(case.token_ids) <= 32


def test_an_unknown_suite_is_named() -> None:
    with pytest.raises(errors.UnknownNameError, match="'huge' is unknown; known: demo-calibration"):
        load_suite("huge")


def written(tmp_path: Path, row: Any) -> Path:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(row))
    return path


def case(**fields: Any) -> dict[str, Any]:
    return {"case_id": "a", "token_ids": [1, 2], **fields}


def test_a_file_of_a_user_is_read(tmp_path: Path) -> None:
    rows = [case(x_mine=1, position_ids=[4, 5], attention_mask=[0, 1]), case(case_id="b", text="t")]
    suite = load_suite(written(tmp_path, {"schema": SCHEMA, "cases": rows}))
    assert suite.name == "mine"
    assert suite.cases[0].position_ids == (4, 5)
    assert suite.cases[0].attention_mask == (0, 1)
    assert suite.cases[1].text == "t"


BAD: dict[str, tuple[Any, str]] = {
    "a list": ([], "no object of schema"),
    "another schema": ({"schema": "x", "cases": [case()]}, "no object of schema"),
    "an unknown key": ({"schema": SCHEMA, "cases": [case()], "more": 1}, "unknown keys .'more'"),
    "no cases": ({"schema": SCHEMA, "cases": []}, "at least one"),
    "cases no list": ({"schema": SCHEMA, "cases": {"a": 1}}, "at least one"),
    "a case no object": ({"schema": SCHEMA, "cases": [3]}, "case 0: the case is no object"),
    "no ids": ({"schema": SCHEMA, "cases": [{"case_id": "a"}]}, "'token_ids'. are missing"),
    "an empty case": ({"schema": SCHEMA, "cases": [case(token_ids=[])]}, "no token ids"),
    "ids no list": ({"schema": SCHEMA, "cases": [case(token_ids="12")]}, "no list"),
    "a Boolean id": ({"schema": SCHEMA, "cases": [case(token_ids=[1, True])]}, r"token_ids\[1\]"),
    "a negative id": ({"schema": SCHEMA, "cases": [case(token_ids=[-1])]}, r"token_ids\[0\] is -1"),
    "a fraction": ({"schema": SCHEMA, "cases": [case(token_ids=[1.0])]}, r"is 1\.0"),
    "an id beyond": (
        {"schema": SCHEMA, "vocab_size": 2, "cases": [case()]}, "the vocabulary has 2 ids"
    ),
    "a name that is a path": ({"schema": SCHEMA, "cases": [case(case_id="../a")]}, "is no case id"),
    "a case twice": ({"schema": SCHEMA, "cases": [case(), case()]}, "occurs twice"),
    "another length": (
        {"schema": SCHEMA, "cases": [case(attention_mask=[1])]}, "attention_mask has another length"
    ),
    "a mask of twos": ({"schema": SCHEMA, "cases": [case(attention_mask=[1, 2])]}, "0 and 1"),
    "an unsupported field": (
        {"schema": SCHEMA, "cases": [case(window=4)]}, "unknown keys .'window'"
    ),
    "a name that is no text": ({"schema": SCHEMA, "name": 3, "cases": [case()]}, "name is 3"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_broken_file_is_a_case_file_error(tmp_path: Path, name: str) -> None:
    row, words = BAD[name]
    with pytest.raises(errors.CaseFileError, match=words) as caught:
        load_suite(written(tmp_path, row))
    assert caught.value.where.startswith("mine.json")


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("{")
    with pytest.raises(errors.JsonError):
        load_suite(path)
    with pytest.raises(errors.JsonError, match="unreadable"):
        load_suite(tmp_path / "none.json")


def test_random_cases_are_the_same_everywhere() -> None:
    suite = random_cases(49152, [3, 2], 101)
    assert [c.token_ids for c in suite.cases] == GOLDEN
    assert suite.digest == random_cases(49152, [3, 2], 101).digest
    assert suite.digest != random_cases(49152, [3, 2], 102).digest


GOLDEN = [(26010, 27071, 9002), (41296, 4316)]


def test_random_cases_use_every_id_alike() -> None:
    (only,) = random_cases(5, [5000], 1).cases
    counts = [only.token_ids.count(number) for number in range(5)]
    assert min(counts) > 800


@pytest.mark.parametrize(
    ("vocab", "lengths", "seed"), [(0, [1], 1), (5, [], 1), (5, [0], 1), (5, [1], -1)]
)
def test_the_generator_checks_its_arguments(vocab: int, lengths: list[int], seed: int) -> None:
    with pytest.raises(errors.RecordError):
        random_cases(vocab, lengths, seed)


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = Tokenizer(models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    path = tmp_path / "tokenizer.json"
    words.save(str(path))
    return path


def suite_of(**fields: Any) -> Any:
    return parse_cases({"schema": SCHEMA, "cases": [case(**fields)]}, name="s", where="s")


def test_text_cases_are_encoded_again(tokenizer: Path) -> None:
    assert check_text_cases(suite_of(text="a b a", token_ids=[0, 1, 0]), tokenizer) == 1
    assert check_text_cases(suite_of(), Path("not needed")) == 0


@pytest.mark.parametrize(("ids", "index"), [([0, 2, 0], 1), ([0, 1], 2), ([0, 1, 0, 1], 3)])
def test_a_text_case_with_other_ids_is_refused(tokenizer: Path, ids: list[int], index: int) -> None:
    with pytest.raises(errors.TextCaseError, match=f"from token {index} on"):
        check_text_cases(suite_of(text="a b a", token_ids=ids), tokenizer)


def test_a_broken_tokenizer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text("{}")
    with pytest.raises(errors.TokenizerFileError):
        check_text_cases(suite_of(text="a"), path)


@pytest.mark.model
def test_the_demo_texts_are_what_the_real_tokenizer_makes_of_them(smollm2_snapshot: Path) -> None:
    tokenizer = smollm2_snapshot / "tokenizer.json"
    assert check_text_cases(load_suite("demo-judged"), tokenizer) == 4
    assert check_text_cases(load_suite("demo-calibration"), tokenizer) == 8
