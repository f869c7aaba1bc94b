"""The evidence of C1: what the source and each engine of a run make of texts, as digests.

The runtime's engines get the compiled tokenizer alone. The receipts hold its bytes, so that
`trlm verify` makes the reference's column again from them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from trlm_lab.base import canon
from trlm_lab.errors import InfrastructureError, Refused
from trlm_lab.flows.tokenizer_engines import read_reference, tokenizer_opened
from trlm_lab.flows.tokenizer_requests import Request, TokenizerEngine, TokenizerFile
from trlm_lab.flows.tokenizer_runtime import runtime_bytes
from trlm_lab.receipts import ReceiptStore
from trlm_lab.text.vectors import AnyTokenizer, Sample, samples

#: The tokenizer engine of each engine of a run; the others read no text.
TOKENIZERS = {
    "reference": "python", "native-scalar": "native", "wasm-scalar@wasmtime": "wasm",
    "wasm-scalar@chromium": "wasm@chromium",
}  # fmt: skip
#: Longer texts are for `trlm tokenizer vectors` and the fuzzer.
LONGEST = 4096

Row = dict[str, Any]


def tokenized_table(file: Path, engines: Sequence[str]) -> tuple[Row, bytes]:
    """The table, and the compiled tokenizer that the runtime's engines were given.

    `cases` has a row of answers for each sample of the minimum corpus that is text, `missing` the
    engines that are not here and why.

    Raises:
        Refused: no engine of ours builds this tokenizer, or it does not compile.
    """
    found = TokenizerFile.at(file)
    block = bytes(runtime_bytes(found))
    corpus = list(short_samples(read_reference(found)))
    columns, missing = _columns(file, block, engines, corpus)
    rows = zip(corpus, _source(file, corpus), *columns.values(), strict=True)
    cases = [
        {"case": name, "source": source, "engines": dict(zip(columns, answers, strict=True))}
        for (name, _), source, *answers in rows
    ]
    return {"cases": cases, "missing": missing}, block


def tokenizer_facts(store: ReceiptStore, file: Path, engines: Sequence[str]) -> Row:
    """What the node of the table says; blobs go into the store, and so does a refusal."""
    try:
        table, block = tokenized_table(file, engines)
    except Refused as error:
        return {"refusal_blob": store.put_value(dict(error.as_finding()))}
    return {"tokenized_blob": store.put_value(table), "tok2_blob": store.blobs.put(block)}


def tokenizer_probe(store: ReceiptStore, node: str, facts: Row) -> str:
    """The node of a table, over the tokenizer's profile."""
    return store.add("probe", {"probe": "tokenizer", **facts}, [node])


def short_samples(tokenizer: AnyTokenizer) -> Iterator[tuple[str, Sample]]:
    """The samples of the minimum corpus that are short and well-formed, each with its name."""
    counts: dict[str, int] = {}
    for sample in samples(tokenizer):
        number = counts[sample.group] = counts.get(sample.group, 0) + 1
        if len(sample.data) * sample.repeats <= LONGEST and not _ill_formed(sample.data):
            yield f"{sample.group}/{number}", sample


def _ill_formed(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return False


def _columns(
    file: Path, block: bytes, engines: Sequence[str], corpus: list[tuple[str, Sample]]
) -> tuple[dict[str, list[Row]], dict[str, str]]:
    """The answers of each engine to every sample, and the engines that are not here."""
    columns: dict[str, list[Row]] = {}
    missing: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        compiled = Path(folder) / "tokenizer.tok2"
        compiled.write_bytes(block)
        for engine in ("reference", *(e for e in engines if e in TOKENIZERS and e != "reference")):
            try:
                path = file if engine == "reference" else compiled
                with tokenizer_opened(path, TOKENIZERS[engine]) as opened:
                    columns[engine] = [answer(opened, sample) for _, sample in corpus]
            except InfrastructureError as error:
                missing[engine] = error.code
    return columns, missing


def _source(file: Path, corpus: list[tuple[str, Sample]]) -> list[Row]:
    """What the source's library gives; its decoded bytes are those of a text."""
    with ExitStack() as held:
        opened = held.enter_context(tokenizer_opened(file, "hf"))
        rows = [answer(opened, sample) for _, sample in corpus]
    for row in rows:
        row.pop("bytes_sha256", None)
    return rows


def answer(engine: TokenizerEngine, sample: Sample) -> Row:
    """Digests of ids and offsets, of the decoded text and of its bytes; or a refusal's code."""
    text = (sample.data * sample.repeats).decode()
    try:
        found = engine.tokenize(Request(text, add_special_tokens=sample.insert))
        decoded = engine.decode(list(found["ids"]), "raw")
    except Refused as error:
        return {"refused": error.code}
    spans = [list(span) for span in found["offsets"]]
    return {
        "ids_sha256": canon.content_id([list(found["ids"]), spans]),
        "text_sha256": canon.sha256_hex(decoded["text"].encode()),
        "bytes_sha256": canon.sha256_hex(bytes.fromhex(decoded["bytes_hex"])),
    }
