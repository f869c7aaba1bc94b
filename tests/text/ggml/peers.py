"""llama.cpp beside ours, on the keys of one GGUF file."""

import random
from pathlib import Path
from typing import Any

from tests.skips import lacking
from tests.text.ggml.made_vocabulary import gguf_bytes
from trlm_lab.backends.llama_cpp import missing_part
from trlm_lab.backends.llama_cpp_vocabulary import LlamaCppVocabulary
from trlm_lab.text import MODES, Tokenizer
from trlm_lab.text.decoders import Decoder
from trlm_lab.text.ggml import read_gguf_tokenizer


def require_llama_cpp() -> None:
    """Skip without llama.cpp; fail where it is demanded."""
    if reason := missing_part():
        lacking("llama.cpp", reason)


def tidied(data: bytes, stages: list[Decoder]) -> bytes:
    """Bytes after stages that tidy up."""
    texts = [data.decode("utf-8", "surrogateescape")]
    for stage in stages:
        texts = stage.apply(texts, lossy=False, clean=True)
    return "".join(texts).encode("utf-8", "surrogateescape")


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

    def require_decoding(self, sequences: int) -> None:
        """Random ids, special tokens at the beginning, in the middle and at the end among them."""
        draw = random.Random(self.source.size)
        special = sorted(self.ours.special_ids)
        for count in range(sequences):
            ids = draw.choices(range(self.source.size), k=count % 12)
            for _ in range(count % 3 if special else 0):
                ids.insert(draw.choice((0, len(ids) // 2, len(ids))), draw.choice(special))
            self.require_decoded(ids)

    def require_decoded(self, ids: list[int]) -> None:
        """The bytes of ids in every mode, whole and token by token.

        llama.cpp tidies up whatever it shows, ours in the mode visible alone.
        """
        for mode in MODES:
            whole = self.ours.decode(ids, mode)
            data = whole.data
            if mode != "visible":
                stages = [one.stage for one in self.ours.decoders[1:]]
                data = tidied(data, stages)
            assert data == self.source.decode(ids, show_special=mode != "visible"), (ids, mode)
            stream = self.ours.stream(mode)
            parts = [*map(stream.push, ids), stream.flush()]
            assert b"".join(part.data for part in parts) == whole.data, (ids, mode)
            assert "".join(part.text for part in parts) == whole.text, (ids, mode)
