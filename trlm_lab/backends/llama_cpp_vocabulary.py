"""llama.cpp's own tokenizer over the vocabulary of a GGUF file: ids and decoded bytes, no offsets.

Only the vocabulary is loaded, so that a file without tensors will do. It is loaded in a process of
its own (`llama_cpp_vocabulary_process`), because llama.cpp aborts on what it does not expect.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from pathlib import Path

from trlm_lab.backends.llama_cpp import FIX, missing_part
from trlm_lab.backends.llama_cpp_vocabulary_process import (
    ADD_SPECIAL,
    ANSWER,
    CALL,
    DECODE,
    ENCODE,
    PARSE_SPECIAL,
    SHOW_SPECIAL,
)
from trlm_lab.backends.peer_pipe import PeerPipe
from trlm_lab.backends.process_command import ProcessCommand
from trlm_lab.errors import PeerMissingError, TokenizerFileError

SCRIPT = Path(__file__).with_name("llama_cpp_vocabulary_process.py")
# -P keeps the script's own directory, which has modules of common names, off the path.
COMMAND = (sys.executable, "-P", str(SCRIPT))
#: The longest wait for an answer: ten megabytes without a space take a minute.
SECONDS = 300.0
_LENGTH = slice(1, 9)


class LlamaCppVocabulary:
    """One vocabulary; its process ends with the object, or with `close`."""

    def __init__(
        self, path: Path, *, command: Sequence[str] = COMMAND, seconds: float = SECONDS
    ) -> None:
        """Args:
            path: a GGUF file.
            command: what serves it; the path is appended.
            seconds: the longest wait for one answer.

        Raises:
            PeerMissingError: llama-cpp-python is not installed.
            TokenizerFileError: llama.cpp does not load the file.
            PeerEndedError, PeerSilentError: it ended over the file, or did not answer in time.
        """
        if missing := missing_part():
            raise PeerMissingError(peer="llama.cpp", detail=missing, command=FIX)
        # llama.cpp would call a debugger to tell where it aborts.
        environment = {**ProcessCommand(()).visible_environment(), "GGML_NO_BACKTRACE": "1"}
        self._pipe = PeerPipe(
            [*command, str(path)],
            environment,
            peer="llama.cpp",
            where=path.name,
            seconds=seconds,
        )
        done, data = self._answer(b"")
        if not done:
            self.close()
            raise TokenizerFileError(where=path.name, detail=data.decode("utf-8", "replace"))
        self.size = int.from_bytes(data, "little")

    @property
    def pid(self) -> int:
        """The process that holds the vocabulary."""
        return self._pipe.pid

    def encode(self, data: bytes, *, add_special: bool, parse_special: bool) -> list[int]:
        """Ids of a text; with `parse_special` control tokens are recognised in it.

        Raises:
            PeerEndedError, PeerSilentError: as above.
        """
        if not data and not add_special:
            return []
        flags = ADD_SPECIAL * add_special | PARSE_SPECIAL * parse_special
        return self._numbers(self._call(ENCODE, flags, data))

    def decode(self, ids: list[int], *, show_special: bool) -> bytes:
        """Bytes of ids as llama.cpp writes them, tidied up where the vocabulary asks for it.

        Raises:
            PeerEndedError, PeerSilentError: as above.
        """
        return self._call(DECODE, SHOW_SPECIAL * show_special, array("i", ids).tobytes())

    def close(self) -> None:
        """End the process. May be called again."""
        self._pipe.close()

    def _call(self, what: int, flags: int, data: bytes) -> bytes:
        return self._answer(CALL.pack(what, flags, len(data)) + data)[1]

    def _answer(self, call: bytes) -> tuple[bool, bytes]:
        answer = self._pipe.call(call, ANSWER.size, _LENGTH)
        return bool(answer[0]), answer[ANSWER.size :]

    @staticmethod
    def _numbers(data: bytes) -> list[int]:
        ids = array("i")
        ids.frombytes(data)
        return ids.tolist()
