"""The tokenizer section of an SLM1 file: a given BTOK or BPE1, or a tokenizer that is one.

BPE1 is byte-level merging over the whole text, with BOS in front and EOS behind; a tokenizer that
does anything else would give other ids, and is refused with each thing that it does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trlm_lab.errors import Bpe1Error, Slm1CannotHoldError
from trlm_lab.text import Tokenizer
from trlm_lab.text.byte_chars import BYTES, CHARS
from trlm_lab.text.decoders import ByteLevel as ByteLevelDecoder
from trlm_lab.text.models.bpe import Bpe
from trlm_lab.text.post_processors import Template
from trlm_lab.text.pre_tokenizers import ByteLevel
from trlm_lab.text.slm1 import Bpe1, Btok, Specials, write_bpe1, write_btok

Roles = dict[str, int | None]


def slm1_section(tokenizer: Tokenizer, vocab: int, pad: int | None, unk: int | None) -> bytes:
    """The section that gives this tokenizer's ids for every text, BOS and EOS around them.

    `vocab` counts the model's ids; `pad` and `unk` are its special ids, where it has them.

    Raises:
        Slm1CannotHoldError: with every reason.
    """
    reasons = list(_reasons(tokenizer))
    if reasons:
        raise Slm1CannotHoldError(where="the tokenizer", reasons="; ".join(reasons))
    source = _bpe1(tokenizer, vocab, pad, unk)
    plain = {number: bytes([number]) for number in range(256)}
    if (vocab, dict(source.tokens), source.merges) == (260, plain, {}):
        return write_btok(Btok(source.specials))
    try:
        return write_bpe1(source)
    except Bpe1Error as error:
        reason = f"{error.facts['field']} is {error.facts['got']}, not {error.facts['expected']}"
        raise Slm1CannotHoldError(where="the tokenizer", reasons=reason) from error


def _reasons(tokenizer: Tokenizer) -> Iterator[str]:
    model = tokenizer.model
    if not isinstance(model, Bpe):
        yield f"its model is {tokenizer.model_kind}, not BPE"
        return
    if tokenizer.added:
        first = tokenizer.added[0].content
        yield f"it looks for {len(tokenizer.added)} added tokens in a text ({first!r})"
    if tokenizer.normalizers:
        yield f"it normalizes texts ({tokenizer.normalizers[0].kind})"
    if not _only(tokenizer.pre_tokenizers, ByteLevel(False, None)):
        kinds = ", ".join(one.kind for one in tokenizer.pre_tokenizers) or "none"
        yield f"it cuts texts before merging, or does not merge bytes (pre-tokenizers: {kinds})"
    if not _only(tokenizer.decoders, ByteLevelDecoder()):
        yield "its decoder is another than that of bytes"
    if _around(tokenizer) is None:
        yield "it does not put one BOS in front of a text and one EOS behind it"
    options = {
        "byte_fallback": model.byte_fallback,
        "ignore_merges": model.ignore_merges,
        "fuse_unk": model.fuse_unknown,
        "continuing_subword_prefix": model.prefix,
        "end_of_word_suffix": model.suffix,
    }
    yield from (f"its model has {name}" for name, value in options.items() if value)
    if model.unknown is None and any(char not in model.ids for char in CHARS):
        yield "a byte without a token is left out, where BPE1 has UNK"


def _only(stages: Any, wanted: object) -> bool:
    return len(stages) == 1 and stages[0].stage == wanted


def _around(tokenizer: Tokenizer) -> tuple[int, int] | None:
    """BOS and EOS of the post-processor, if it is one template of exactly these."""
    if len(tokenizer.post_processors) != 1:
        return None
    stage = tokenizer.post_processors[0].stage
    pieces = stage.pieces if isinstance(stage, Template) else ()
    if len(pieces) != 3 or pieces[1] is not None or pieces[0] is None or pieces[2] is None:
        return None
    return pieces[0].id, pieces[2].id


def _bpe1(tokenizer: Tokenizer, vocab: int, pad: int | None, unk: int | None) -> Bpe1:
    model, around = tokenizer.model, _around(tokenizer)
    assert isinstance(model, Bpe)
    assert around is not None
    unknown = unk if model.unknown is None else model.ids.get(model.unknown)
    if pad is None or unknown is None:
        missing = "PAD" if pad is None else "UNK"
        reason = f"it has no {missing}, and SLM1 names four special ids"
        raise Slm1CannotHoldError(where="the tokenizer", reasons=reason)
    specials = Specials(around[0], around[1], pad, unknown)
    tokens = {}
    for text, number in model.ids.items():
        if number in specials:
            continue
        if any(char not in BYTES for char in text):
            reason = f"the token {text!r} is no text of bytes"
            raise Slm1CannotHoldError(where="the tokenizer", reasons=reason)
        tokens[number] = bytes(BYTES[char] for char in text)
    ranked = sorted(model.merges.items(), key=lambda row: row[1][0])
    merges = {pair: (rank, made) for rank, (pair, (_, made)) in enumerate(ranked)}
    return Bpe1(vocab, specials, tokens, merges)
