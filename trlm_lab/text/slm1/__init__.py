"""The tokenizers of SLM1 (docs/formats/slm1-tokenizers.md): BTOK, bytes, and BPE1, merged bytes."""

from __future__ import annotations

from trlm_lab.text.slm1.bpe1 import Bpe1, read_bpe1, write_bpe1
from trlm_lab.text.slm1.btok import Btok, read_btok, write_btok
from trlm_lab.text.slm1.section import read_section, special_ids
from trlm_lab.text.slm1.specials import Specials
from trlm_lab.text.slm1.tokenizers import bpe1_tokenizer, btok_tokenizer

__all__ = [
    "Bpe1",
    "Btok",
    "Specials",
    "bpe1_tokenizer",
    "btok_tokenizer",
    "read_bpe1",
    "read_btok",
    "read_section",
    "special_ids",
    "write_bpe1",
    "write_btok",
]
