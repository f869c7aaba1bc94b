"""A tokenizer comes back out of TOK2 whole, and has one form there."""

import hashlib
import itertools
import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.text.components import (
    ADDED,
    DECODERS,
    MODELS,
    NORMALIZERS,
    POST_PROCESSORS,
    PRE_TOKENIZERS,
    added,
)
from tests.text.constructed import CORPUS, document, word_level
from tests.text.tok2.blocks import NAMES, Block, compiled, tokenizer
from trlm_lab.errors import Tok2CompileError
from trlm_lab.text import Tokenizer, read_tokenizer, tables
from trlm_lab.text.clusters import cluster_sets
from trlm_lab.text.normal_forms import form_tables
from trlm_lab.text.text_sets import text_sets
from trlm_lab.text.tok2 import read_tok2, write_tok2
from trlm_lab.text.tok2.hashing import (
    merge_buckets,
    merge_places,
    token_buckets,
    token_hashes,
    token_places,
)
from trlm_lab.text.tokenizer import Component

PINNED = {
    "ignore_merges": "05b89806bc60c6e32f04c769295dc8e1654a9f62b1ba532bf9d2558ca2a1d54c",
    "unigram_bytes": "fa11d206a9fb003a708fd0b914ad76b93b30056f454af775fc575bf3e06dcbca",
    "word_piece": "eb72dd8047850f6cef3843df595133deda6706b63d4f32648fbd8e8852896b24",
    "pattern": "5f6b5159eba9a7ebaa7837cb0b413fd9436fbac582c78fd85297be65b9fb04ad",
}


@pytest.mark.parametrize("name", NAMES)
def test_everything_comes_back(name: str) -> None:
    found = read_tok2(compiled(name))
    assert found.roles == (("bos", 1), ("eos", 0), ("eos", 1))
    assert found.template == b"IR"
    assert write_tok2(found.tokenizer, roles=found.roles, template=b"IR") == compiled(name)
    for field in ("added", "model_kind", "notes"):
        assert getattr(found.tokenizer, field) == getattr(tokenizer(name), field)
    text = CORPUS[3]
    traced = tokenizer(name).encode(text, trace=True, add_special_tokens=True)
    assert found.tokenizer.encode(text, trace=True, add_special_tokens=True) == traced


@pytest.mark.parametrize(("name", "digest"), PINNED.items())
def test_bytes_stay(name: str, digest: str) -> None:
    """Another value here is another version of the format."""
    assert hashlib.sha256(compiled(name)).hexdigest() == digest


def test_known_values() -> None:
    """Those of docs/formats/tok2."""
    hashes = token_hashes([b"", b"a", b"hello", "\u0120world".encode()])
    assert hashes.tolist() == [0, 0xE8B7BE43, 0x3610A686, 0x40779356]
    assert token_places(hashes, 1024).tolist() == [0, 1001, 748, 843]
    left, right = np.array([[0, 1, 32, 49151], [0, 2, 258, 7]], np.uint32)
    assert merge_places(left, right, 32768).tolist() == [0, 1040, 16500, 11470]


@pytest.mark.parametrize("model", MODELS)
def test_models_come_back(model: str) -> None:
    plain = read_tokenizer(document(MODELS[model]))
    assert read_tok2(write_tok2(plain)).tokenizer.model == plain.model


COMPONENTS = [
    (stage, name, row)
    for stage, rows in (
        ("normalizer", NORMALIZERS), ("pre_tokenizer", PRE_TOKENIZERS),
        ("post_processor", POST_PROCESSORS), ("decoder", DECODERS),
    )
    for name, row in rows.items()
]  # fmt: skip


@pytest.mark.parametrize(("stage", "name", "row"), COMPONENTS, ids=lambda v: v if v else "-")
def test_each_component_alone(stage: str, name: str, row: Any) -> None:
    """Alone each brings only the tables that it needs, and all of them."""
    plain = read_tokenizer(document(word_level(["a"]), **{stage: row}))
    block = write_tok2(plain)
    assert write_tok2(read_tok2(block).tokenizer) == block


def test_no_table_of_the_library_takes_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any table the compiled tokenizers are read and give what they gave."""
    blocks = {name: compiled(name) for name in NAMES}
    wanted = {name: tokenizer(name).encode(CORPUS[4], add_special_tokens=True) for name in NAMES}
    caches = (
        tables.table, tables.scalar_set, tables.category, tables.char_map, tables.numbers,
        tables.pairs, form_tables, cluster_sets, text_sets,
    )  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr(tables, "PACKED", {})
        for cached in caches:
            cached.cache_clear()
        with pytest.raises(KeyError):
            form_tables("NFC")
        for name, block in blocks.items():
            found = read_tok2(block).tokenizer
            assert found.encode(CORPUS[4], add_special_tokens=True) == wanted[name]
            assert found.decode([0], "diagnostic") == tokenizer(name).decode([0], "diagnostic")


def test_ids_with_holes() -> None:
    model = {**word_level([]), "vocab": {"[UNK]": 5, "a": 70, "": 3}}
    found = read_tok2(write_tok2(read_tokenizer(document(model)))).tokenizer
    assert found.model.ids == {"[UNK]": 5, "a": 70, "": 3}
    assert found.decode([70]).text == "a"


def test_empty_vocabulary() -> None:
    empty = read_tokenizer(document({**word_level([]), "vocab": {}}))
    assert read_tok2(write_tok2(empty)).tokenizer.model.ids == {}


def test_buckets_are_evenly_filled() -> None:
    """On average two to four entries; the fullest bucket of this vocabulary has few more."""
    block = Block(compiled("ignore_merges"))
    tokens, merges = block.header.token_count, block.header.merge_count
    for section, at, buckets in (
        ("index", 0, token_buckets(tokens)),
        ("merges", 16 * merges, merge_buckets(merges)),
    ):
        starts = struct.unpack_from(f"<{buckets + 1}I", block.sections[section], at)
        sizes = [b - a for a, b in itertools.pairwise(starts)]
        assert sum(sizes) in (tokens, merges)
        assert max(sizes) <= 12


@pytest.mark.parametrize(
    "change",
    [
        {"vocab": {"[UNK]": 1 << 24}},
        {"vocab": {"a" * 70_000: 0}},
        {"vocab": {"\ud800": 0}},
        {"unk_token": "a" * (1 << 20 | 1)},
    ],
    ids=["id", "token", "surrogate", "text"],
)
def test_what_has_no_room(change: dict[str, Any]) -> None:
    plain = read_tokenizer(document({**word_level([]), **change}))
    with pytest.raises(Tok2CompileError):
        write_tok2(plain)


def test_unknown_stages_and_roles() -> None:
    plain = read_tokenizer(document(word_level(["a"]), added_tokens=ADDED[:1]))
    strange = Component("/normalizer", "Strange", object())
    with pytest.raises(Tok2CompileError):
        write_tok2(Tokenizer(plain.model, "WordLevel", normalizers=(strange,)))
    with pytest.raises(Tok2CompileError):
        write_tok2(plain, roles=[("bos", 77)])
    with pytest.raises(Tok2CompileError):
        write_tok2(replace(plain, model_kind="GGUF BPE"))


def test_content_is_no_control_token() -> None:
    row = document({**word_level(["a"]), "vocab": {"[UNK]": 0, "<s>": 1}},
                   added_tokens=[added("<s>", 1, "special")])  # fmt: skip
    found = read_tok2(write_tok2(read_tokenizer(row))).tokenizer
    assert found.encode("<s>").ids == [1]
    assert found.encode("<s>", content=[(0, 3)]).ids == [0]
