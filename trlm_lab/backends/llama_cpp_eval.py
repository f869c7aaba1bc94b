"""Logits from llama.cpp through its C interface: float32 cache, no flash attention, all positions.

Import it in a process of its own: the library prints to standard error and aborts on bad input.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


class LlamaCppError(RuntimeError):
    """A call into llama.cpp that did not succeed."""


def _require(value: Any, what: str) -> Any:
    if not value:
        raise LlamaCppError(f"llama.cpp: {what} failed")
    return value


class LlamaCppModel:
    """A loaded GGUF with one context of `tokens` positions; a context manager."""

    def __init__(self, gguf: Path, tokens: int, threads: int) -> None:
        """Load; raises LlamaCppError where llama.cpp refuses."""
        from llama_cpp import llama_cpp as api

        self._api = api
        api.llama_backend_init()
        parameters = api.llama_model_default_params()
        parameters.n_gpu_layers = 0
        path = str(gguf).encode()
        self._model = _require(api.llama_model_load_from_file(path, parameters), "loading")
        self._context = self._open(tokens, threads)
        self.vocabulary = api.llama_vocab_n_tokens(api.llama_model_get_vocab(self._model))

    def _open(self, tokens: int, threads: int) -> Any:
        api = self._api
        wanted = api.llama_context_default_params()
        wanted.n_ctx = wanted.n_batch = wanted.n_ubatch = tokens
        wanted.n_outputs_max = wanted.n_outputs_max_per_seq = 0
        wanted.n_threads = wanted.n_threads_batch = threads
        wanted.type_k = wanted.type_v = api.GGML_TYPE_F32
        wanted.flash_attn_type = api.LLAMA_FLASH_ATTN_TYPE_DISABLED
        wanted.offload_kqv = wanted.op_offload = False
        return _require(api.llama_init_from_model(self._model, wanted), "opening a context")

    def logits(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        """Logits of every position of a fresh sequence, (T, V)."""
        api = self._api
        if max(token_ids) >= self.vocabulary:
            raise LlamaCppError(f"token {max(token_ids)} of {self.vocabulary}")
        api.llama_memory_clear(api.llama_get_memory(self._context), True)
        batch = api.llama_batch_init(len(token_ids), 0, 1)
        try:
            for i, token in enumerate(token_ids):
                batch.token[i], batch.pos[i], batch.logits[i] = token, i, 1
                batch.n_seq_id[i], batch.seq_id[i][0] = 1, 0
            batch.n_tokens = len(token_ids)
            _require(api.llama_decode(self._context, batch) == 0, "decoding")
            found = np.empty((len(token_ids), self.vocabulary), dtype=np.float32)
            for i in range(len(token_ids)):
                found[i] = self._row(i)
            return found
        finally:
            api.llama_batch_free(batch)

    def _row(self, position: int) -> NDArray[np.float32]:
        """The logits of one position, in memory of llama.cpp's own."""
        pointer = _require(self._api.llama_get_logits_ith(self._context, position), "logits")
        address = ctypes.cast(pointer, ctypes.POINTER(ctypes.c_float))
        return np.ctypeslib.as_array(address, (self.vocabulary,))

    def __enter__(self) -> LlamaCppModel:
        return self

    def __exit__(self, *exc: object) -> None:
        self._api.llama_free(self._context)
        self._api.llama_model_free(self._model)
