"""The source's own template renderer, held within limits of time, memory and output.

jinja2 counts nothing: a template may loop without end or build a text as large as the machine. So
what the compiled form does not vouch for is rendered in a process of its own.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from trlm_lab import errors
from trlm_lab.backends.peer_pipe import PeerPipe
from trlm_lab.backends.process_command import ProcessCommand
from trlm_lab.backends.source_template_process import LENGTH, MEMORY
from trlm_lab.chat import Conversation, encode_conversation
from trlm_lab.errors import PeerEndedError, TemplateLimitError, TrlmError

SCRIPT = Path(__file__).with_name("source_template_process.py")
# -P keeps the script's own directory, which has modules of common names, off the path.
COMMAND = (sys.executable, "-P", str(SCRIPT))
#: Processor seconds of one rendering; those that templates are published for take milliseconds.
SECONDS = 10.0
#: The longest wait for an answer, however busy the machine is.
_PATIENCE = 300.0
_OUT_OF_TIME = "SIGPROF"


class SourceTemplate:
    """A template's source; its process starts with the first conversation."""

    def __init__(self, source: str, *, where: str = "template", seconds: float = SECONDS) -> None:
        """`seconds` of the processor are the longest rendering."""
        self._source, self._where, self._seconds = source, where, seconds
        self._pipe: PeerPipe | None = None

    def render(self, given: Conversation) -> str:
        """Render with the source's own engine.

        Raises:
            ChatInputError: the input is no plain data.
            TemplateLimitError: beyond the time, the memory or the size of the output.
            TemplateSourceError and its neighbours: as `chat.render_source`.
            PeerSilentError: no answer came for minutes.
        """
        call = {
            "source": self._source,
            "where": self._where,
            "given": json.loads(encode_conversation(given)),
        }
        data = json.dumps(call).encode()
        try:
            head = LENGTH.size
            made = self._opened().call(LENGTH.pack(len(data)) + data, head, slice(0, head))
        except PeerEndedError as error:
            if _OUT_OF_TIME in error.facts["ending"]:
                raise self._beyond("processor seconds", f"{self._seconds:g}") from error
            raise self._beyond("bytes of memory", str(MEMORY)) from error
        row = json.loads(made[head:])
        if "error" in row:
            raise _error(**row["error"])
        return str(row["text"])

    def _opened(self) -> PeerPipe:
        if self._pipe is None:
            self._pipe = PeerPipe(
                [*COMMAND, str(self._seconds)],
                ProcessCommand(()).visible_environment(),
                peer="the source's renderer",
                where=self._where,
                seconds=_PATIENCE,
            )
        return self._pipe

    def _beyond(self, what: str, limit: str) -> TrlmError:
        # The process is gone; the next conversation starts another one.
        self.close()
        return TemplateLimitError(where=self._where, what=what, got="more", limit=limit)

    def close(self) -> None:
        """End the process, if there is one."""
        if self._pipe is not None:
            self._pipe.close()
        self._pipe = None


def _error(name: str, where: str, facts: dict[str, object]) -> TrlmError:
    made: TrlmError = getattr(errors, name)(where=where, **facts)
    return made
