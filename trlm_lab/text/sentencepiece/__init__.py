"""SentencePiece models: the file read strictly, and the tokenizer that it is."""

from trlm_lab.text.sentencepiece.reading import read_sentencepiece
from trlm_lab.text.sentencepiece.tokenizer import SentencePieceTokenizer

__all__ = ["SentencePieceTokenizer", "read_sentencepiece"]
