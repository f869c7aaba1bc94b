"""Whether `tokenizer.json` gives the ids that llama.cpp gives, reading the GGUF of the same model.

The GGUF's own tokenizer code is the second opinion on what the one word `tokenizer.ggml.pre` means.
Control tokens are recognised in the text by both.

One difference is known and settled. A byte-level vocabulary may lack some bytes (SmolLM2's lacks
21, among them 0x04, 0x1D and 0xF1), and neither tokenizer gives such a byte an id. The Hugging Face
library drops it before merging, so its neighbours may merge with each other; llama.cpp drops it
after. The publisher runs the former, which is therefore the rule here. A text with such a byte
whose ids spell the same remaining bytes counts as `explained`; everything else as `differing`.

Run as a module: `python -m trlm_lab.backends.llama_cpp_tokenizer GGUF TOKENIZER_JSON [COUNT
[SEED]]`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trlm_lab.backends.llama_cpp_vocabulary import LlamaCppVocabulary
from trlm_lab.backends.tokenizer_texts import sample_texts
from trlm_lab.errors import MissingPackageError, TokenizerFileError

#: Disagreements that a report keeps; the count goes on.
KEPT = 20


@dataclass(frozen=True)
class Disagreement:
    """One text on which the ids differ; `index` is the first differing position."""

    text: str
    index: int
    explained: bool
    huggingface: tuple[int, ...]
    llama_cpp: tuple[int, ...]


@dataclass(frozen=True)
class TokenizerAgreement:
    """Counts of texts, and the first disagreements, unexplained and short ones first."""

    texts: int
    ids: int
    equal: int
    explained: int
    kept: tuple[Disagreement, ...]

    @property
    def differing(self) -> int:
        """Texts with other ids for no known reason."""
        return self.texts - self.equal - self.explained

    def to_map(self) -> dict[str, Any]:
        """Canonical map."""
        rows = [{**vars(d), "huggingface": list(d.huggingface), "llama_cpp": list(d.llama_cpp)}
                for d in self.kept]  # fmt: skip
        return {
            "texts": self.texts,
            "ids": self.ids,
            "equal": self.equal,
            "explained": self.explained,
            "differing": self.differing,
            "kept": rows,
        }


def check_tokenizer_against_llama_cpp(
    gguf_path: Path, tokenizer_json: Path, n: int = 10_000, seed: int = 1
) -> TokenizerAgreement:
    """Encode `n` generated texts with both tokenizers and compare the ids.

    Raises:
        MissingPackageError: the tokenizers library is not installed.
        PeerMissingError: llama-cpp-python is not installed.
        TokenizerFileError: one of the files cannot be read.
    """
    tokenizer = _huggingface(tokenizer_json)
    peer = _llama_cpp(gguf_path)
    table = tokenizer.get_added_tokens_decoder()
    specials = tuple(table[number].content for number in sorted(table))
    ids = 0
    found: list[Disagreement] = []
    for text in sample_texts(n, seed, specials):
        mine, theirs = tuple(tokenizer.encode(text).ids), peer(text)
        ids += len(mine)
        if mine != theirs:
            known = _lacks_a_byte(tokenizer, text) and _spelled(tokenizer, mine) == _spelled(
                tokenizer, theirs
            )
            found.append(Disagreement(text, _first_difference(mine, theirs), known, mine, theirs))
    found.sort(key=lambda d: (d.explained, len(d.text), d.text))
    explained = sum(d.explained for d in found)
    return TokenizerAgreement(n, ids, n - len(found), explained, tuple(found[:KEPT]))


Encoder = Callable[[str], tuple[int, ...]]


def _lacks_a_byte(tokenizer: Any, text: str) -> bool:
    """Whether the text holds a byte for which the vocabulary has no token."""
    from tokenizers.pre_tokenizers import ByteLevel

    pieces = ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(text)
    spelled = "".join(piece for piece, _ in pieces)
    return any(tokenizer.token_to_id(character) is None for character in set(spelled))


def _spelled(tokenizer: Any, ids: tuple[int, ...]) -> str:
    """The token texts joined; in a byte-level vocabulary each character is one byte."""
    return "".join(tokenizer.id_to_token(number) for number in ids)


def _first_difference(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    shared = min(len(a), len(b))
    return next((i for i in range(shared) if a[i] != b[i]), shared)


def _huggingface(path: Path) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingPackageError(package="tokenizers", extra="oracle") from error
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:
        # The library raises bare Exceptions for unreadable and for malformed files.
        raise TokenizerFileError(where=path.name, detail=str(error)) from error


def _llama_cpp(path: Path) -> Encoder:
    peer = LlamaCppVocabulary(path)

    def encode(text: str) -> tuple[int, ...]:
        return tuple(peer.encode(text.encode(), add_special=False, parse_special=True))

    return encode


def main(arguments: list[str]) -> int:
    """Print the report as JSON; exit status 1 where any text differs."""
    if not 2 <= len(arguments) <= 4:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    gguf, tokenizer, *numbers = arguments
    report = check_tokenizer_against_llama_cpp(Path(gguf), Path(tokenizer), *map(int, numbers))
    sys.stdout.write(json.dumps(report.to_map(), ensure_ascii=True, indent=1) + "\n")
    return 1 if report.differing else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
