"""Published tokenizers against their sources: ids and offsets on generated texts, and vectors."""

from pathlib import Path

import pytest

from tests.text.ggml.peers import GgufPair, require_llama_cpp
from tests.text.published import names, published
from trlm_lab.acquire.gguf_file import read_gguf
from trlm_lab.flows.exactness.shards import Shard, pool_of, run_shard
from trlm_lab.flows.tokenizer_engines import Reference, open_tokenizer, source_engine
from trlm_lab.flows.tokenizer_requests import TokenizerFile
from trlm_lab.text.ggml import read_gguf_tokenizer

pytestmark = [pytest.mark.model, pytest.mark.slow]

JSON = (
    "qwen3", "llama3_1", "gemma3", "gptoss", "deepseek_v3", "claude", "llama2", "all_minilm_l6_v2",
)  # fmt: skip
GGUF = names("llama.cpp", ".gguf")
VOCABULARIES = [name for name in GGUF if name.endswith(".gguf")]
VECTORS = [name.removesuffix(".inp") for name in GGUF if name.endswith(".inp")]
MODELS = [
    (package, name) for package in ("mistral", "sentencepiece") for name in names(package, ".model")
]


def require_exact(path: Path, texts: int) -> None:
    """No difference on a seeded shard; its texts are what tools/fuzz/exactness.py runs."""
    candidate = Reference(TokenizerFile.at(path))
    source = open_tokenizer(path, source_engine(path))
    found = run_shard(candidate, source, pool_of(candidate.tokenizer, 20), Shard(20, 0), texts)
    assert found.mismatches == []
    assert found.texts + found.refused == texts
    assert found.long * 10 >= found.texts


@pytest.mark.parametrize("package", JSON)
def test_tokenizer_json(package: str) -> None:
    require_exact(published(package, "tokenizer.json"), 500)


@pytest.mark.parametrize(("package", "name"), MODELS)
def test_sentencepiece_model(package: str, name: str) -> None:
    require_exact(published(package, name), 500)


@pytest.mark.parametrize(("package", "name"), MODELS[-3:])
def test_sentencepiece_model_in_the_runtime(package: str, name: str) -> None:
    path = published(package, name)
    reference = Reference(TokenizerFile.at(path)).tokenizer
    source = open_tokenizer(path, source_engine(path))
    candidate = open_tokenizer(path, "native")
    found = run_shard(candidate, source, pool_of(reference, 21), Shard(21, 0), 500)
    assert found.mismatches == []


@pytest.mark.peer
@pytest.mark.parametrize("name", VOCABULARIES)
def test_gguf_vocabulary(name: str) -> None:
    require_llama_cpp()
    require_exact(published("llama.cpp", name), 200)


@pytest.mark.peer
@pytest.mark.parametrize("name", VOCABULARIES)
def test_decoding_of_a_gguf_vocabulary(name: str) -> None:
    path = published("llama.cpp", name)
    fields = {key: field.value for key, field in read_gguf(path).fields.items()}
    GgufPair(fields, path, write=False).require_decoding(400)


@pytest.mark.parametrize("name", VECTORS)
def test_vectors_of_llama_cpp(name: str) -> None:
    """The publisher's own vectors; they were written with control tokens read as text."""
    fields = read_gguf(published("llama.cpp", name)).fields
    tokenizer = read_gguf_tokenizer({key: field.value for key, field in fields.items()})
    given = published("llama.cpp", f"{name}.inp").read_bytes().decode()
    wanted = published("llama.cpp", f"{name}.out").read_text().split("\n")
    texts = given.split("\n__ggml_vocab_test__\n")
    assert len(texts) >= 46
    for text, row in zip(texts, wanted, strict=False):
        assert tokenizer.encode(text).ids == [int(number) for number in row.split()], ascii(text)


def test_there_are_fifteen_vocabularies_with_vectors() -> None:
    assert len(VECTORS) == 15
    assert len(VOCABULARIES) == 19
