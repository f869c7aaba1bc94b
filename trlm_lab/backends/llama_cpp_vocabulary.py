"""llama.cpp's own tokenizer over the vocabulary of a GGUF file: ids and decoded bytes, no offsets.

Only the vocabulary is loaded, so that a file without tensors will do.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from trlm_lab.backends.llama_cpp import FIX, missing_part
from trlm_lab.errors import PeerMissingError, TokenizerFileError

#: Bytes that a token can stand for on the average; where it is more, the call is made again.
_BYTES_A_TOKEN = 32


class LlamaCppVocabulary:
    """One vocabulary; it is freed with the object."""

    def __init__(self, path: Path) -> None:
        """Args:
            path: a GGUF file.

        Raises:
            PeerMissingError: llama-cpp-python is not installed.
            TokenizerFileError: llama.cpp does not load the file.
        """
        if missing := missing_part():
            raise PeerMissingError(peer="llama.cpp", detail=missing, command=FIX)
        import llama_cpp

        self._api: Any = llama_cpp
        # Kept, since llama.cpp calls it for as long as it runs.
        self._log = llama_cpp.llama_log_callback(lambda level, text, data: None)
        llama_cpp.llama_log_set(self._log, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        parameters = llama_cpp.llama_model_default_params()
        parameters.vocab_only = True
        self._model = llama_cpp.llama_model_load_from_file(str(path).encode(), parameters)
        if not self._model:
            raise TokenizerFileError(where=path.name, detail="llama.cpp does not load it")
        self._vocabulary = llama_cpp.llama_model_get_vocab(self._model)
        self.size: int = llama_cpp.llama_vocab_n_tokens(self._vocabulary)

    def encode(self, data: bytes, *, add_special: bool, parse_special: bool) -> list[int]:
        """Ids of a text; with `parse_special` control tokens are recognised in it."""
        if not data and not add_special:
            return []
        room = len(data) + 2
        while True:
            ids = (ctypes.c_int32 * room)()
            count = self._api.llama_tokenize(
                self._vocabulary, data, len(data), ids, room, add_special, parse_special
            )
            if count >= 0:
                return list(ids[:count])
            room = -count

    def decode(self, ids: list[int], *, show_special: bool) -> bytes:
        """Bytes of ids as llama.cpp writes them, tidied up where the vocabulary asks for it."""
        given = (ctypes.c_int32 * len(ids))(*ids)
        room = _BYTES_A_TOKEN * len(ids) + 1
        while True:
            data = ctypes.create_string_buffer(room)
            count = self._api.llama_detokenize(
                self._vocabulary, given, len(ids), data, room, False, show_special
            )
            if count >= 0:
                return data.raw[:count]
            room = -count

    def __del__(self) -> None:
        if getattr(self, "_model", None):
            self._api.llama_model_free(self._model)
