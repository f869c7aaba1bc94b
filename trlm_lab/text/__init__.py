"""Tokenizers, exactly: tokenizer.json read strictly, every stage with its offsets, ids to bytes.

Pure Python and floor 1: parsed JSON, text or bytes in, records out. The source of every rule is
the `tokenizers` library; the character tables are read out of it.
"""

from __future__ import annotations

from trlm_lab.text.decoded import MODES, Decoded
from trlm_lab.text.reading import read_tokenizer
from trlm_lab.text.records import Encoding, Stage, StagePiece, Token
from trlm_lab.text.streaming import StreamingDecoder, TokenStream
from trlm_lab.text.tokenizer import Tokenizer
from trlm_lab.text.utf8 import BOUNDS, Bounds, text_of

__all__ = [
    "BOUNDS",
    "MODES",
    "Bounds",
    "Decoded",
    "Encoding",
    "Stage",
    "StagePiece",
    "StreamingDecoder",
    "Token",
    "TokenStream",
    "Tokenizer",
    "read_tokenizer",
    "text_of",
]
