"""The source's template renderer in a process with limits; a script of its own.

It answers calls from standard input on standard output, in order, and ends with its input. Frames
are little-endian: `u64 length`, then that many bytes of JSON. A call is `{"source", "where",
"given"}`; an answer is `{"text"}`, or `{"error": {"name", "where", "facts"}}` of a class of ours.
Called with the processor seconds of one rendering: beyond them the system ends the process, also
within one operation that never returns.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import struct
import sys
import threading
from typing import Any

from trlm_lab.backends.llama_cpp_vocabulary_process import end_with_input
from trlm_lab.backends.process_exec import set_limit
from trlm_lab.chat import Conversation, limits, render_source
from trlm_lab.errors import TemplateLimitError, TrlmError

LENGTH = struct.Struct("<Q")
#: Address space of the whole process.
MEMORY = 1 << 30


def answer(call: dict[str, Any]) -> dict[str, Any]:
    """Render one conversation."""
    where = call["where"]
    try:
        try:
            text = render_source(call["source"], Conversation(**call["given"]), where=where)
            size = len(text.encode("utf-8", "surrogatepass"))
        except MemoryError:
            raise _beyond(where, "bytes of memory", "more", MEMORY) from None
        if size > limits.MAX_OUTPUT_BYTES:
            raise _beyond(where, "bytes of output", size, limits.MAX_OUTPUT_BYTES)
    except TrlmError as error:
        facts = {"name": type(error).__name__, "where": error.where, "facts": error.facts}
        return {"error": facts}
    return {"text": text}


def _beyond(where: str, what: str, got: object, limit: int) -> TemplateLimitError:
    return TemplateLimitError(where=where, what=what, got=got, limit=limit)


def main(seconds: float) -> None:
    """Serve until the input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    set_limit(resource.RLIMIT_CORE, 0)
    set_limit(resource.RLIMIT_FSIZE, 0)
    set_limit(resource.RLIMIT_AS, MEMORY)
    threading.Thread(target=end_with_input, daemon=True).start()
    calls = sys.stdin.buffer
    while len(head := calls.read(LENGTH.size)) == LENGTH.size:
        call = json.loads(calls.read(LENGTH.unpack(head)[0]))
        # The time of the processor, which a busy machine does not shorten.
        signal.setitimer(signal.ITIMER_PROF, seconds)
        data = json.dumps(answer(call), default=str).encode()
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(LENGTH.pack(len(data)) + data)
        answers.flush()


if __name__ == "__main__":
    main(float(sys.argv[1]))
