"""SLM1's tokenizers as tokenizers of stages: the same ids for every text, and so TOK2 too."""

from __future__ import annotations

from trlm_lab.text import decoders, post_processors, pre_tokenizers
from trlm_lab.text.byte_chars import CHARS
from trlm_lab.text.models.bpe import Bpe
from trlm_lab.text.pattern import expression
from trlm_lab.text.post_processors import inserted
from trlm_lab.text.slm1.bpe1 import Bpe1
from trlm_lab.text.slm1.btok import VOCAB, Btok
from trlm_lab.text.tokenizer import Component, Tokenizer

#: Special tokens have no bytes. Their texts hold a space, which no text of bytes does here, so that
#: none comes out of a text, and decoding finds and drops them.
_NAMES = ("<bos> ", "<eos> ", "<pad> ", "<unk> ")
_SPECIAL = "<(?:bos|eos|pad|unk)> "


def btok_tokenizer(source: Btok) -> Tokenizer:
    """Bytes as tokens; BOS and EOS are the post-processor's."""
    return bpe1_tokenizer(Bpe1(VOCAB, source.specials, {n: bytes([n]) for n in range(256)}, {}))


def bpe1_tokenizer(source: Bpe1) -> Tokenizer:
    """Merged bytes as tokens; BOS and EOS are the post-processor's."""
    ids = {
        "".join([CHARS[byte] for byte in token]): number
        for number, token in source.tokens.items()
        if number not in source.specials
    }
    ids |= dict(zip(_NAMES, source.specials, strict=True))
    bos, eos = (inserted(ids[name], name) for name in _NAMES[:2])
    dropped = decoders.Replace(expression(_SPECIAL), "")
    around = post_processors.Template((bos, None, eos))
    return Tokenizer(
        Bpe(ids, dict(source.merges), _NAMES[3]),
        "BPE",
        pre_tokenizers=(_component("ByteLevel", pre_tokenizers.ByteLevel(False, None)),),
        post_processors=(_component("TemplateProcessing", around),),
        decoders=(
            _component("Replace", dropped),
            _component("ByteLevel", decoders.ByteLevel()),
        ),
    )


def _component(kind: str, stage: object) -> Component:
    return Component("", kind, stage)
