"""The files of a tokenizer against one another: added tokens, vocabularies, merge tables."""

from __future__ import annotations

import hashlib
from typing import Any

from trlm_lab.base.config_bounds import shown
from trlm_lab.base.plain_file import open_plain
from trlm_lab.describe.compared import Compared
from trlm_lab.describe.receipt import NOTE, Declaration, Evidence
from trlm_lab.describe.tokenizer_check import tokenizer_findings

_FIELD = "tokenizer"
#: Model type -> classes of the source framework (without `Fast`) and words of GGUF files that can
#: mean it. A name that is not listed takes any type.
_NAMES = {
    "BPE": {
        "GPT2Tokenizer", "Qwen2Tokenizer", "RobertaTokenizer", "GemmaTokenizer",
        "CodeGenTokenizer", "WhisperTokenizer", "CohereTokenizer", "LlamaTokenizer",
        "CodeLlamaTokenizer", "gpt2", "llama",
    },
    "WordPiece": {"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "bert"},
    "Unigram": {
        "T5Tokenizer", "XLMRobertaTokenizer", "AlbertTokenizer", "DebertaV2Tokenizer",
        "PegasusTokenizer", "LlamaTokenizer", "CodeLlamaTokenizer", "llama", "t5",
    },
}  # fmt: skip
_MAIN = "tokenizer.json"
_FLAGS = ("special", "normalized", "lstrip", "rstrip", "single_word")
#: The longest lists in use, of 446,189 merges, have about 5 MB.
MAX_MERGES_BYTES = 16 << 20


def tokenizer_evidence(compared: Compared) -> Evidence:
    """Model type, class and files; every disagreement between the files is a finding."""
    documents = compared.documents
    publisher = []
    model = documents.tokenizer.get("model")
    if isinstance(model, dict):
        publisher.append(Declaration(_MAIN, "/model/type", model.get("type")))
    for file, row in (
        ("tokenizer_config.json", documents.tokenizer_config),
        ("config.json", documents.config),
    ):
        if "tokenizer_class" in row:
            publisher.append(Declaration(file, "/tokenizer_class", row["tokenizer_class"]))
    key = "tokenizer.ggml.model"
    if key in documents.gguf:
        place = f"/gguf/fields/{key}"
        publisher.append(Declaration("provenance.cbor", place, documents.gguf[key]))
    if documents.tokenizer:
        compared.findings.rows += tokenizer_findings(documents.tokenizer, _MAIN)
        _added_tokens(compared)
        _cut(compared)
        _model_type(compared, publisher)
        publisher += _second_vocabulary(compared) + _second_merges(compared)
    undefined = "" if publisher else "no file declares it"
    chosen = None
    if not compared.findings.about(_FIELD) and isinstance(model, dict):
        chosen = model.get("type")
    return Evidence(_FIELD, tuple(publisher), undefined=undefined, chosen=chosen)


def _model_type(compared: Compared, publisher: list[Declaration]) -> None:
    """The type of `tokenizer.json` must be one that the named class or word can mean."""
    kind = publisher[0].value if publisher and publisher[0].file == _MAIN else None
    for declared in publisher[1:]:
        named = declared.value if isinstance(declared.value, str) else ""
        allowed = [t for t, names in _NAMES.items() if named.removesuffix("Fast") in names]
        if kind is not None and allowed and kind not in allowed:
            detail = f"{declared.place} names {named!r}, {_MAIN} holds a {kind} model"
            compared.findings.add("TOKENIZER_CONFLICT", declared.place, detail, _FIELD)


def _cut(compared: Compared) -> None:
    """Source: the transformers library, which asks its tokenizer for whole texts, unpadded."""
    told = compared.documents.tokenizer.get("truncation")
    if told is not None:
        most = told.get("max_length") if isinstance(told, dict) else told
        detail = f"texts are cut to {shown(most)} tokens; neither the source nor any engine does it"
        place = f"{_MAIN}#/truncation"
        compared.findings.add("TRUNCATION_DECLARED", place, detail, _FIELD, NOTE)


def _added_tokens(compared: Compared) -> None:
    documents, vocab = compared.documents, compared.vocab
    place = "tokenizer_config.json#/added_tokens_decoder"
    table = documents.tokenizer_config.get("added_tokens_decoder")
    if table is not None and not isinstance(table, dict):
        detail = f"{shown(table)} is no map of ids to tokens"
        compared.findings.add("ADDED_TOKEN_ID", place, detail, _FIELD)
    table = table if isinstance(table, dict) else {}
    table_place = place
    rows = [(f"{place}/{key}", key, _content(row)) for key, row in table.items()]
    rows += [
        (f"added_tokens.json#/{text}", str(number), text)
        for text, number in documents.other.get("added_tokens.json", {}).items()
    ]
    for place, key, text in rows:
        number = None if text is None else vocab.id_of(text)
        if text is None or str(number) != key:
            detail = f"id {key[:40]} is {text!r}, which {_MAIN} gives the id {number}"
            compared.findings.add("ADDED_TOKEN_ID", place, detail, _FIELD)
    _flags(table_place, table, compared)


def _flags(place: str, table: dict[str, Any], compared: Compared) -> None:
    """Both files say how a token is found in a text; the source takes the table's word.

    A flag that the table leaves out is false, but `normalized` the opposite of `special`.
    Source: AddedToken of the tokenizers library.
    """
    listed = compared.documents.tokenizer.get("added_tokens")
    tokens = [t for t in listed if isinstance(t, dict)] if isinstance(listed, list) else []
    own = {str(token.get("content")): token for token in tokens}
    for key, row in table.items():
        text = _content(row)
        if text is None:
            continue  # No token, which is another finding.
        other = own.get(text, {})
        for flag in _FLAGS:
            mine = row.get(flag, flag == "normalized" and row.get("special") is not True)
            if flag in other and mine is not other[flag]:
                said = f"{shown(mine)}, {_MAIN} says {shown(other[flag])}"
                detail = f"{flag} of {text!r} is {said}"
                compared.findings.add("TOKENIZER_CONFLICT", f"{place}/{key}", detail, _FIELD)


def _content(row: Any) -> str | None:
    text = row.get("content") if isinstance(row, dict) else None
    return text if isinstance(text, str) else None


def _second_vocabulary(compared: Compared) -> list[Declaration]:
    second = compared.documents.other.get("vocab.json")
    if second is None:
        return []
    ids, added = compared.vocab.ids, compared.vocab.added
    wrong = next((t for t, n in second.items() if compared.vocab.id_of(t) != n), None)
    absent = next((t for t in ids if t not in second and t not in added), None)
    if wrong is not None or absent is not None:
        text = str(absent if wrong is None else wrong)
        numbers = f"{str(second.get(text))[:40]} in vocab.json, {ids.get(text)} in {_MAIN}"
        place, detail = "vocab.json", f"the token {text!r} is {numbers}"
        compared.findings.add("TOKENIZER_CONFLICT", place, detail, _FIELD)
    digest = compared.documents.digests["vocab.json"]
    return [Declaration("vocab.json", "", f"{len(second)} tokens, SHA-256 {digest}")]


def _second_merges(compared: Compared) -> list[Declaration]:
    path = compared.documents.root / "merges.txt"
    model = compared.documents.tokenizer.get("model")
    first = model.get("merges") if isinstance(model, dict) else None
    if not path.exists():
        return []
    with open_plain(path) as stream:
        data = stream.read(MAX_MERGES_BYTES + 1)
    if len(data) > MAX_MERGES_BYTES:
        detail = f"more than {MAX_MERGES_BYTES} bytes, which are not read"
        compared.findings.add("TOKENIZER_CONFLICT", path.name, detail, _FIELD)
        return []
    lines = data.decode("utf-8", "replace").splitlines()
    second = [line for line in lines if line.strip() and not line.startswith("#version")]
    if isinstance(first, list):
        texts = [" ".join(map(str, m)) if isinstance(m, list) else str(m) for m in first]
        if texts != second:
            at = _first_difference(texts, second)
            detail = f"merge {at} differs from {_MAIN}, which has {len(texts)} merges"
            compared.findings.add("TOKENIZER_CONFLICT", path.name, detail, _FIELD)
    digest = hashlib.sha256(data).hexdigest()
    return [Declaration(path.name, "", f"{len(second)} merges, SHA-256 {digest}")]


def _first_difference(one: list[str], two: list[str]) -> int:
    pairs = zip(one, two, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(two)))
