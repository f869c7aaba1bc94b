"""The vocabulary of a GGUF file in a process that llama.cpp may abort; a script of its own.

Called as `llama_cpp_vocabulary_process.py GGUF`. It answers calls from standard input on standard
output, in order, and ends with its input, whatever it is doing then. Frames are little-endian:

    call    u8 what is asked, u8 flags, u64 length, that many bytes
    answer  u8 whether it was done, u64 length, that many bytes

The first answer comes unasked: the number of tokens (u32), or, not done, why there are none.
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
import struct
import sys
import threading
from pathlib import Path
from typing import Any, BinaryIO

from trlm_lab.backends.process_exec import set_limit

CALL = struct.Struct("<BBQ")
ANSWER = struct.Struct("<BQ")
#: A text to ids (i32 each), and ids to bytes.
ENCODE, DECODE = 1, 2
ADD_SPECIAL, PARSE_SPECIAL, SHOW_SPECIAL = 1, 2, 4
#: Address space beyond the file's own.
MEMORY = 8 << 30
#: Standard error; a file that makes the library talk without end fills no disk.
MOST_WORDS = 1 << 20
#: Bytes that a token can stand for on the average; where it is more, the call is made again.
_BYTES_A_TOKEN = 32


class Vocabulary:
    """One vocabulary that llama.cpp has loaded, without the tensors."""

    def __init__(self, path: str) -> None:
        import llama_cpp

        self._api: Any = llama_cpp
        # Kept, since llama.cpp calls it for as long as it runs.
        self._log = llama_cpp.llama_log_callback(lambda level, text, data: None)
        llama_cpp.llama_log_set(self._log, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        parameters = llama_cpp.llama_model_default_params()
        parameters.vocab_only = True
        self._model = llama_cpp.llama_model_load_from_file(path.encode(), parameters)
        if not self._model:
            raise ValueError("llama.cpp does not load it")
        self._vocabulary = llama_cpp.llama_model_get_vocab(self._model)
        self.size: int = llama_cpp.llama_vocab_n_tokens(self._vocabulary)

    def encode(self, data: bytes, flags: int) -> bytes:
        """Ids of a text, as i32."""
        room = len(data) + 2
        special, parsed = bool(flags & ADD_SPECIAL), bool(flags & PARSE_SPECIAL)
        while True:
            ids = (ctypes.c_int32 * room)()
            count = self._api.llama_tokenize(
                self._vocabulary, data, len(data), ids, room, special, parsed
            )
            if count >= 0:
                return bytes(memoryview(ids).cast("B")[: 4 * count])
            room = -count

    def decode(self, data: bytes, flags: int) -> bytes:
        """Bytes of ids (i32), tidied up where the vocabulary asks for it."""
        count = len(data) // 4
        ids = (ctypes.c_int32 * count).from_buffer_copy(data)
        room = _BYTES_A_TOKEN * count + 1
        while True:
            out = ctypes.create_string_buffer(room)
            length = self._api.llama_detokenize(
                self._vocabulary, ids, count, out, room, False, bool(flags & SHOW_SPECIAL)
            )
            if length >= 0:
                return out.raw[:length]
            room = -length


def end_with_input() -> None:
    """Wait until nobody can write to the standard input any more, and end."""
    watch = select.poll()
    watch.register(0, 0)
    watch.poll()
    os._exit(0)


def answer(stream: BinaryIO, done: bool, data: bytes) -> None:
    """Write one answer."""
    stream.write(ANSWER.pack(done, len(data)) + data)
    stream.flush()


def main(path: str) -> None:
    """Load, and serve until the input ends."""
    # What the library prints must not stand among the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    set_limit(resource.RLIMIT_CORE, 0)
    set_limit(resource.RLIMIT_FSIZE, MOST_WORDS)
    set_limit(resource.RLIMIT_AS, MEMORY + Path(path).stat().st_size)
    threading.Thread(target=end_with_input, daemon=True).start()
    try:
        vocabulary = Vocabulary(path)
    except ValueError as error:
        answer(answers, False, str(error).encode())
        return
    answer(answers, True, vocabulary.size.to_bytes(4, "little"))
    calls = sys.stdin.buffer
    while len(head := calls.read(CALL.size)) == CALL.size:
        what, flags, length = CALL.unpack(head)
        work = vocabulary.encode if what == ENCODE else vocabulary.decode
        answer(answers, True, work(calls.read(length), flags))


if __name__ == "__main__":
    main(sys.argv[1])
