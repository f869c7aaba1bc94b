"""The tokenizers whose golden vectors are recorded, and the recording of them.

`python -m tests.text.golden_tokenizers` writes the files again after a deliberate change.
"""

import gzip
import json
from pathlib import Path
from typing import Any

from tests.text.components import (
    ADDED,
    BYTES,
    DECODERS,
    NORMALIZERS,
    POST_PROCESSORS,
    PRE_TOKENIZERS,
    SCORES,
    bert,
)
from tests.text.constructed import added, byte_bpe, document, unigram, word_piece
from trlm_lab.base import canon
from trlm_lab.flows.tokenizer_vectors import make_vector_set

FOLDER = Path(__file__).with_name("golden")
HASHES = FOLDER / "hashes.json"

_WORDS = ["he", "##llo", "h", "##e", "w", "##o", "##r", "##ld", "hello", "a", "##b", "1", "##2",
          "\u4e2d", "e", "##\u0301", "the", "word", "##s", ",", ".", "!"]  # fmt: skip
DOCUMENTS: dict[str, dict[str, Any]] = {
    # Byte-level BPE with composition, a pattern of two alternations, and all flags.
    "bytes": document(
        byte_bpe(), normalizer=NORMALIZERS["NFC"], pre_tokenizer=PRE_TOKENIZERS["Qwen"],
        post_processor=POST_PROCESSORS["Sequence"], decoder=DECODERS["ByteLevel"],
        added_tokens=ADDED,
    ),
    # Unigram with equal scores, byte fallback, compatibility forms, and a space before the text.
    "unigram": document(
        unigram({**SCORES, **dict.fromkeys(BYTES, -9.0)}, byte_fallback=True),
        normalizer=NORMALIZERS["NFKC"], pre_tokenizer=PRE_TOKENIZERS["MetaspaceFirst"],
        post_processor=POST_PROCESSORS["Template"], decoder=DECODERS["Llama"],
        added_tokens=[added("<s>", 900, "special"), added("lo", 901, "normalized")],
    ),
    # WordPiece with unknown words, lower case without accents, and tokens around the text.
    "words": document(
        word_piece(_WORDS), normalizer=bert(True, True, None, True),
        pre_tokenizer=PRE_TOKENIZERS["BertPreTokenizer"], decoder=DECODERS["WordPiece"],
        post_processor=POST_PROCESSORS["Bert"],
        added_tokens=[added("[UNK]", 0, "special"), added("[MASK]", 900, "special", "lstrip")],
    ),
}  # fmt: skip


def made(name: str, scratch: Path) -> bytes:
    """The vectors of one of them, made now."""
    path = scratch / "tokenizer.json"
    path.write_text(json.dumps(DOCUMENTS[name]))
    return make_vector_set(path).encode()


def recorded(name: str) -> Path:
    """The file that holds them."""
    return FOLDER / f"{name}.cbor.gz"


def main() -> None:
    """Write all of them."""
    FOLDER.mkdir(exist_ok=True)
    data = {name: made(name, FOLDER) for name in DOCUMENTS}
    (FOLDER / "tokenizer.json").unlink()
    for name, found in data.items():
        recorded(name).write_bytes(gzip.compress(found, mtime=0))
    rows = {name: canon.sha256_hex(found) for name, found in data.items()}
    HASHES.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
