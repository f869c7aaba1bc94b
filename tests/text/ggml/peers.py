"""llama.cpp beside ours, on the keys of one GGUF file."""

from pathlib import Path
from typing import Any

from tests.skips import lacking
from tests.text.ggml.made_vocabulary import gguf_bytes
from trlm_lab.backends.llama_cpp import missing_part
from trlm_lab.backends.llama_cpp_vocabulary import LlamaCppVocabulary
from trlm_lab.text import Tokenizer
from trlm_lab.text.ggml import read_gguf_tokenizer


def require_llama_cpp() -> None:
    """Skip without llama.cpp; fail where it is demanded."""
    if reason := missing_part():
        lacking("llama.cpp", reason)


class GgufPair:
    """One vocabulary in both engines."""

    def __init__(self, fields: dict[str, Any], path: Path, *, write: bool = True) -> None:
        require_llama_cpp()
        if write:
            path.write_bytes(gguf_bytes(fields))
        self.source = LlamaCppVocabulary(path)
        rows = {k: list(v) if isinstance(v, bytes) else v for k, v in fields.items()}
        self.ours: Tokenizer = read_gguf_tokenizer(rows)
        unknown = fields.get("tokenizer.ggml.unknown_token_id", -1)
        self.control = self.ours.special_ids - {unknown}

    def require_same(self, text: str) -> None:
        """Ids as template, as content, and with what is put around.

        llama.cpp's merges can make a control token out of content; ours never do.
        """
        data = text.encode()
        for special, content in ((False, False), (True, False), (False, True)):
            wanted = self.source.encode(data, add_special=special, parse_special=not content)
            spans = ((0, len(text)),) if content else ()
            got = self.ours.encode(text, add_special_tokens=special, content=spans)
            if content and self.control.intersection(wanted):
                assert not self.control.intersection(got.ids)
            else:
                assert got.ids == wanted, (ascii(text), special, content)

    def require_decoded(self, ids: list[int]) -> None:
        """The bytes of visible text, where the first token is none that is left out."""
        if ids and ids[0] not in self.ours.special_ids:
            wanted = self.source.decode(ids, show_special=False)
            assert self.ours.decode(ids, "visible").data == wanted, ids
