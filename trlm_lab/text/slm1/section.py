"""The tokenizer section of an SLM1 file: BTOK or BPE1, by its magic."""

from __future__ import annotations

from trlm_lab.text.slm1.bpe1 import Bpe1, read_bpe1
from trlm_lab.text.slm1.btok import MAGIC as BTOK
from trlm_lab.text.slm1.btok import VOCAB, Btok, read_btok


def read_section(data: bytes | memoryview) -> Btok | Bpe1:
    """The tokenizer of a section.

    Raises:
        BtokError: it begins as BTOK and breaks one of its rules.
        Bpe1Error: it is no sound BPE1.
    """
    return read_btok(data) if bytes(data[:4]) == BTOK else read_bpe1(data)


def special_ids(data: bytes | memoryview) -> tuple[int, tuple[int, int, int, int]]:
    """Vocabulary, and BOS, EOS, PAD, UNK, of a section. Raises as `read_section`."""
    found = read_section(data)
    bos, eos, pad, unk = found.specials
    return (VOCAB if isinstance(found, Btok) else found.vocab), (bos, eos, pad, unk)
