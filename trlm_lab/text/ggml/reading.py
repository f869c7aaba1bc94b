"""The tokenizer of a GGUF file, built from its keys, to do byte for byte what llama.cpp does.

Source of facts: src/llama-vocab.cpp of llama-cpp-python 0.3.36.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trlm_lab.errors import TokenizerFieldError, TokenizerKindError, TokenizerVocabularyError
from trlm_lab.text.charsmap import Charsmap, CharsmapError
from trlm_lab.text.ggml.metadata import PREFIX, Metadata
from trlm_lab.text.ggml.models import (
    GgmlBpe,
    GgmlSpm,
    GgmlWordPiece,
    names_of,
    numbered,
    ranked,
)
from trlm_lab.text.ggml.partition import Partition
from trlm_lab.text.ggml.pre_names import NOT_BUILT, PRE_TOKENIZATIONS, PreTokenization
from trlm_lab.text.ggml.splitting import GgmlSplit
from trlm_lab.text.ggml.surroundings import around, decoders, notes
from trlm_lab.text.ggml.unigram import GgmlNormalizer, GgmlUnigram, prefixes_of
from trlm_lab.text.ggml.vocabulary import (
    USER_DEFINED,
    Vocabulary,
    read_vocabulary,
)
from trlm_lab.text.ggml.words import GgmlWords
from trlm_lab.text.normalizers import Prepend, Replace
from trlm_lab.text.pattern import literal
from trlm_lab.text.post_processors import Template, inserted
from trlm_lab.text.pre_tokenizers import ByteLevel
from trlm_lab.text.sentencepiece.prefixes import Rules
from trlm_lab.text.tokenizer import Component, Tokenizer

_SPACE = "\u2581"


def read_gguf_tokenizer(rows: Mapping[str, Any]) -> Tokenizer:
    """The tokenizer of the keys of a GGUF file; others than `tokenizer.` and `general.` are unread.

    Raises:
        TokenizerFieldError: a key is unknown, missing or ill-typed; it is named.
        TokenizerKindError: a tokenizer model or a pre-tokenizer that is not built here.
        TokenizerVocabularyError: tokens that contradict each other.
    """
    metadata = Metadata(rows)
    kind = metadata.take("model", str)
    if kind not in _READERS:
        raise TokenizerKindError(
            where=f"{PREFIX}model", stage="tokenizer model", kind=kind, known=", ".join(_READERS)
        )
    word = metadata.take("pre", str, "")
    # Gemma 4's model is a pre-tokenizer at the same time.
    pre = kind if kind == "gemma4" else word
    return _READERS[kind](metadata, read_vocabulary(metadata, word), pre)


def _bpe(metadata: Metadata, vocabulary: Vocabulary, pre: str) -> Tokenizer:
    hints = () if pre else ("no pre-tokenizer is named; llama.cpp's default is taken",)
    rule = _rule(pre or "default")
    merges, numbers = numbered(vocabulary.ids, _pairs(metadata))
    model = GgmlBpe(
        vocabulary.ids, merges, numbers, rule.ignore_merges, rule.raw, rule.lines,
        names_of(vocabulary.ids),
    )  # fmt: skip
    place = f"{PREFIX}pre"
    cuts = [Component(place, f"patterns {pre or 'default'}", GgmlSplit(rule.patterns))]
    if not rule.raw:
        cuts.append(Component(place, "bytes", ByteLevel(prefix_space=False, pattern=None)))
    spaces = (_escaped(),) if rule.raw else ()
    return Tokenizer(
        model,
        "GGUF BPE",
        vocabulary.added(),
        spaces,
        tuple(cuts),
        around(metadata, vocabulary, rule.bos, add_bos=rule.add_bos, force_bos=rule.lines),
        decoders(vocabulary, visible=not rule.raw, tidied=rule.tidied),
        notes(vocabulary, *hints),
        given=Partition(vocabulary.added()),
    )


def _rule(pre: str) -> PreTokenization:
    if pre not in PRE_TOKENIZATIONS:
        known = ", ".join(sorted(PRE_TOKENIZATIONS))
        why = f" ({NOT_BUILT[pre]})" if pre in NOT_BUILT else ""
        raise TokenizerKindError(
            where=f"{PREFIX}pre", stage="pre-tokenizer", kind=f"{pre!r}{why}", known=known
        )
    return PRE_TOKENIZATIONS[pre]


def _pairs(metadata: Metadata) -> list[tuple[str, str]]:
    """Merges cut at the first space that is not their first character."""
    metadata.take("merges", list)
    out: list[tuple[str, str]] = []
    for merge in metadata.rows("merges", str):
        text = merge.partition("\0")[0]
        at = text.find(" ", 1)
        out.append((text[:at], text[at + 1 :]) if at > 0 else ("", ""))
    return out


def _spm(metadata: Metadata, vocabulary: Vocabulary, pre: str) -> Tokenizer:
    ids = vocabulary.ids
    bytes_of = [(f"<0x{byte:02X}>", chr(byte) if byte < 0x80 else "") for byte in range(256)]
    lacking = [name for name, char in bytes_of if name not in ids and char not in ids]
    if lacking:
        detail = f"no token stands for the byte {lacking[0]}; llama.cpp fails on it"
        raise TokenizerVocabularyError(where=f"{PREFIX}tokens", detail=detail)
    prefix = metadata.take("add_space_prefix", bool, True)
    place = f"{PREFIX}add_space_prefix"
    before = (Component(place, "Prepend", Prepend(" ")),) if prefix else ()
    return Tokenizer(
        GgmlSpm(ids, ranked(ids, vocabulary.scores), names_of(ids)),
        "GGUF SPM",
        vocabulary.added(),
        (*before, _escaped()),
        (),
        around(metadata, vocabulary, 1, eos=2, add_bos=True),
        decoders(vocabulary, visible=False, tidied=False, strip_first=prefix),
        notes(vocabulary),
        given=Partition(vocabulary.added()),
    )


def _wpm(metadata: Metadata, vocabulary: Vocabulary, pre: str) -> Tokenizer:
    lowercase = metadata.take("normalizer.lowercase", bool, True)
    accents = metadata.take("normalizer.strip_accents", bool, lowercase)
    size = len(vocabulary.tokens)
    unknown = metadata.number("unknown_token_id", size, 100)
    bos = metadata.number("bos_token_id", size, 101)
    separator = metadata.number("seperator_token_id", size, 102)
    if unknown is None or bos is None or separator is None:
        detail = "there is no unknown token, none for the beginning, or no separator"
        raise TokenizerVocabularyError(where=f"{PREFIX}tokens", detail=detail)
    ids = vocabulary.ids
    first = inserted(bos, vocabulary.tokens[bos])
    template = Template((first, None, inserted(separator, vocabulary.tokens[separator])))
    return Tokenizer(
        GgmlWordPiece(ids, unknown, max(map(len, ids)), names_of(ids)),
        "GGUF WPM",
        vocabulary.added(),
        (),
        (Component(f"{PREFIX}normalizer", "words", GgmlWords(lowercase, accents)),),
        (Component(f"{PREFIX}model", "Template", template),),
        decoders(vocabulary, visible=False, tidied=True),
        notes(vocabulary),
        given=Partition(vocabulary.added()),
    )


def _ugm(metadata: Metadata, vocabulary: Vocabulary, pre: str) -> Tokenizer:
    size = len(vocabulary.tokens)
    unknown = metadata.number("unknown_token_id", size, 2)
    defined = [
        t for t, k in zip(vocabulary.tokens, vocabulary.kinds, strict=True) if k == USER_DEFINED
    ]
    if unknown is None or not all(map(str.isascii, defined)):
        detail = "there is no unknown token, or a user-defined one beyond ASCII"
        raise TokenizerVocabularyError(where=f"{PREFIX}tokens", detail=detail)
    prefix = metadata.take("add_space_prefix", bool, False)
    normalizer = GgmlNormalizer(
        Rules(_charsmap(metadata)),
        prefixes_of(defined),
        prefix,
        metadata.take("remove_extra_whitespaces", bool, False),
    )
    place = f"{PREFIX}precompiled_charsmap"
    return Tokenizer(
        GgmlUnigram.of(vocabulary, unknown),
        "GGUF UGM",
        vocabulary.added(),
        (Component(place, "normalizer", normalizer),),
        (),
        around(metadata, vocabulary, None, eos=1, add_bos=False, add_eos=True),
        decoders(vocabulary, visible=False, tidied=False, strip_first=prefix),
        notes(vocabulary),
        given=Partition(vocabulary.added()),
    )


def _charsmap(metadata: Metadata) -> Charsmap | None:
    data = bytes(byte & 0xFF for byte in metadata.rows("precompiled_charsmap", int))
    try:
        return Charsmap.of(data) if data else None
    except CharsmapError as error:
        place = f"{PREFIX}precompiled_charsmap"
        raise TokenizerFieldError(where=place, detail=f"the table: {error}") from error


def _escaped() -> Component:
    return Component(f"{PREFIX}model", "Replace", Replace(literal(" "), _SPACE))


_READERS: dict[str, Callable[[Metadata, Vocabulary, str], Tokenizer]] = {
    "gpt2": _bpe,
    "gemma4": _bpe,
    "llama": _spm,
    "bert": _wpm,
    "t5": _ugm,
}
