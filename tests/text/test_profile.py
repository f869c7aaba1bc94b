"""The profile of a tokenizer: whatever changes an id, an offset or a byte changes its hash."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.text.components import (
    ADDED,
    DECODERS,
    MODELS,
    NORMALIZERS,
    POST_PROCESSORS,
    PRE_TOKENIZERS,
    TEMPLATE,
    kind,
    split,
)
from tests.text.constructed import added, document
from tests.text.published import published
from trlm_lab.base import canon
from trlm_lab.base.records.tokenizer_profile import TokenizerProfile
from trlm_lab.errors import RecordError
from trlm_lab.text import read_tokenizer
from trlm_lab.text.described import pattern_sha256, scalars_sha256
from trlm_lab.text.pattern import expression
from trlm_lab.text.profile import WHITE_SPACE, profile_of
from trlm_lab.text.scalar_sets import ScalarSet
from trlm_lab.text.tables import scalar_set
from trlm_lab.text.tok2 import read_tok2, write_tok2

Row = dict[str, Any]


def profile(row: Row) -> TokenizerProfile:
    return profile_of(read_tokenizer(row))


def test_survives_its_map() -> None:
    for model in MODELS.values():
        found = profile(document(model, added_tokens=ADDED, post_processor=TEMPLATE))
        again = TokenizerProfile.from_map(canon.decode(canon.encode(found.to_map())))
        assert again == found
        assert again.profile_id == found.profile_id
        # What is shown as JSON is what is hashed.
        assert json.loads(json.dumps(found.to_map())) == found.to_map()


@pytest.mark.parametrize(
    "change",
    [
        lambda row: row.update(extra=1),
        lambda row: row.pop("padding"),
        lambda row: row.update(schema="trlm.tokenizer.profile.v2"),
        lambda row: row.update(source=1),
        lambda row: row["input"].update(max_bytes="64"),
        lambda row: row["input"].update(max_bytes=True),
        lambda row: row["model"].update(vocabulary_sha256="AB"),
        lambda row: row.update(added_tokens={}),
        lambda row: row["added_tokens"].append({"id": 1}),
        lambda row: row.update(added_rules=[]),
        lambda row: row.update(input=None),
        lambda row: row["insertion"].update(before=["1"]),
    ],
)
def test_closed(change: Callable[[Row], Any]) -> None:
    row = profile(document(MODELS["bytes"])).to_map()
    change(row)
    with pytest.raises(RecordError):
        TokenizerProfile.from_map(row)


def base() -> Row:
    return document(
        copy.deepcopy(MODELS["fallback"]),
        normalizer=NORMALIZERS["Bert"],
        pre_tokenizer=split(r"\p{L}+", "Isolated"),
        post_processor=TEMPLATE,
        decoder=DECODERS["Llama"],
        added_tokens=[added("<s>", 900, "special"), added("<m>", 901), added("n", 902)],
    )


CHANGES: dict[str, Callable[[Row], Any]] = {
    "an id": lambda row: row["model"]["vocab"].update({"he": 9000}),
    "a token": lambda row: row["model"]["vocab"].update(new=9000),
    "a merge": lambda row: row["model"]["merges"].pop(),
    "the order of merges": lambda row: row["model"]["merges"].reverse(),
    "unknown": lambda row: row["model"].update(unk_token=None),
    "fuse_unk": lambda row: row["model"].update(fuse_unk=False),
    "byte_fallback": lambda row: row["model"].update(byte_fallback=False),
    "ignore_merges": lambda row: row["model"].update(ignore_merges=True),
    "a suffix": lambda row: row["model"].update(byte_fallback=False, end_of_word_suffix="</w>"),
    "lowercase": lambda row: row["normalizer"].update(lowercase=False),
    "clean_text": lambda row: row["normalizer"].update(clean_text=False),
    "no normalizer": lambda row: row.update(normalizer=None),
    "a pattern": lambda row: row["pre_tokenizer"].update(pattern={"Regex": r"\p{Lu}+"}),
    "a behaviour": lambda row: row["pre_tokenizer"].update(behavior="Removed"),
    "invert": lambda row: row["pre_tokenizer"].update(invert=True),
    "an added text": lambda row: row["added_tokens"][1].update(content="<k>"),
    "the order of added tokens": lambda row: row["added_tokens"].reverse(),
    **{
        f"the flag {flag}": lambda row, flag=flag: row["added_tokens"][0].update(
            {flag: not row["added_tokens"][0][flag]}
        )
        for flag in ("single_word", "lstrip", "rstrip", "normalized", "special")
    },
    "an inserted id": lambda row: row.update(
        post_processor=kind("BertProcessing", sep=["[S]", 1], cls=["[C]", 2])
    ),
    "no insertion": lambda row: row.update(post_processor=None),
    "a decoder": lambda row: row["decoder"]["decoders"].pop(),
    "a decoder's number": lambda row: row["decoder"]["decoders"][-1].update(start=2),
    "truncation": lambda row: row.update(truncation={"max_length": 3}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_shows(change: str) -> None:
    before, row = profile(base()), copy.deepcopy(base())
    CHANGES[change](row)
    assert profile(row).profile_id != before.profile_id


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ab", "ac"), ("a+", "aa+"), ("(?=a)b", "(?!a)b"), ("(?<=a)b", "(?=a)b"), ("a|b", "ab"),
        ("a{2}b", "a{3}b"), ("(?>a|b)c", "(?:a|b)c"), ("a+?b", "a+b"), ("a++b", "a+b"),
        (r"\p{L}", r"\p{Lu}"), ("a|b|c", "a|c|b"), ("(?:ab)+c", "(?:a)b+c"),
    ],
)  # fmt: skip
def test_patterns_show(one: str, other: str) -> None:
    assert pattern_sha256(expression(one).root) != pattern_sha256(expression(other).root)


def test_scores_show() -> None:
    """One unit in the last place of one score."""
    row = document(copy.deepcopy(MODELS["unigram"]))
    before = profile(row).profile_id
    row["model"]["vocab"][3][1] = -2.5000000000000004
    assert profile(row).profile_id != before


@pytest.mark.parametrize(
    "spelling",
    [
        lambda row: row.update(normalizer=kind("Sequence", normalizers=[row["normalizer"]])),
        lambda row: row["pre_tokenizer"].update(pattern={"Regex": r"(?:\p{Letter}){1,}"}),
        lambda row: row["model"].update(merges=[" ".join(m) for m in row["model"]["merges"]]),
        lambda row: row["added_tokens"][0].update(id=12345),
    ],
)
def test_another_spelling_does_not(spelling: Callable[[Row], Any]) -> None:
    row = base()
    spelling(row)
    assert profile(row).profile_id == profile(base()).profile_id


def test_what_it_says() -> None:
    found = profile(base())
    assert found.insertion.before == (7, 8)
    assert found.insertion.after == ()
    assert found.special_ids == found.decoding.skipped_ids
    assert found.model.unknown_id == 0
    assert found.model.byte_fallback
    assert found.model.rules["duplicate_merges"] == "refused"
    assert found.characters.case_folding.startswith("lower case")
    assert profile(document(MODELS["unigram"])).model.rules["ties"] == "the path found first stays"
    assert not found.input.byte_api
    assert profile(document(MODELS["bytes"])).characters.byte_characters_sha256 is None
    cut = document(MODELS["bytes"], pre_tokenizer=PRE_TOKENIZERS["ByteLevelPrefix"])
    assert profile(cut).characters.prefix_space == ("space before each piece",)
    assert profile(cut).characters.byte_characters_sha256


def test_white_space_is_complete_and_shown() -> None:
    members = {
        chr(c) for low, high in scalar_set("onig_space").ranges for c in range(low, high + 1)
    }
    assert members < set(WHITE_SPACE)
    row = document(MODELS["single"], pre_tokenizer=PRE_TOKENIZERS["WhitespaceSplit"])
    shown = {one.between: one.pieces for one in profile(row).characters.white_space}
    assert shown["\x85"] == shown["\u2028"] == shown["\r\n"] == ("a", "b")
    assert shown["\x1c"] == ("a\x1cb",)
    refused = document(MODELS["word_level"] | {"vocab": {"a": 0}})
    assert profile(refused).characters.white_space[0].pieces is None


@pytest.mark.parametrize("normalizer", NORMALIZERS)
@pytest.mark.parametrize("model", ["bytes", "fallback", "unigram", "word_piece"])
def test_the_compiled_tokenizer_has_the_same_profile(normalizer: str, model: str) -> None:
    """What is read from TOK2 alone behaves alike in everything that the profile pins."""
    row = document(
        MODELS[model], normalizer=NORMALIZERS[normalizer], pre_tokenizer=PRE_TOKENIZERS["Qwen"],
        post_processor=POST_PROCESSORS["Sequence"], decoder=DECODERS["Llama"], added_tokens=ADDED,
    )  # fmt: skip
    tokenizer = read_tokenizer(row)
    compiled = read_tok2(write_tok2(tokenizer)).tokenizer
    assert profile_of(compiled) == profile_of(tokenizer)


@pytest.mark.parametrize(
    "tokens",
    [
        [],
        [added("<s>", 900, "special")],
        *([added("<s>", 900, flag)] for flag in ("single_word", "lstrip", "rstrip", "normalized")),
    ],
)
def test_sets_that_no_flag_asks_for_do_not_count(tokens: list[Row]) -> None:
    """A compiled tokenizer has none of them."""
    tokenizer = read_tokenizer(document(MODELS["bytes"], added_tokens=tokens))
    found = profile_of(tokenizer)
    assert profile_of(read_tok2(write_tok2(tokenizer)).tokenizer) == found
    flags = {name for token in tokens for name, is_set in token.items() if is_set is True}
    for sha256, wanted, asked in (
        (found.characters.word_sha256, "added_word", flags & {"single_word"}),
        (found.characters.space_sha256, "added_space", flags & {"lstrip", "rstrip"}),
    ):
        assert sha256 == scalars_sha256(scalar_set(wanted) if asked else ScalarSet(()))


@pytest.mark.model
@pytest.mark.parametrize("package", ["all_minilm_l6_v2", "llama2", "claude"])
def test_a_published_tokenizer_compiled(package: str) -> None:
    tokenizer = read_tokenizer(json.loads(published(package, "tokenizer.json").read_bytes()))
    assert profile_of(read_tok2(write_tok2(tokenizer)).tokenizer) == profile_of(tokenizer)


@pytest.mark.model
def test_smollm2(smollm2_snapshot: Path) -> None:
    """Pinned: SmolLM2's tokenizer is what it was."""
    found = profile(json.loads((smollm2_snapshot / "tokenizer.json").read_text()))
    assert (found.model.tokens, len(found.added_tokens)) == (49152, 17)
    assert found.model.parameters["merges"]["entries"] == 48900
    assert found.profile_id == SMOLLM2


SMOLLM2 = "f29dd1566db6955f16ac66b3b53cdcc25fb80a94c485b919132d7c87e3b48aee"
