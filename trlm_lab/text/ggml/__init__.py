"""Tokenizers of GGUF files, as llama.cpp runs them."""

from trlm_lab.text.ggml.reading import read_gguf_tokenizer

__all__ = ["read_gguf_tokenizer"]
