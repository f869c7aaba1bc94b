"""The profile of a tokenizer file, with the hash of the file that it was read from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trlm_lab.base.records.tokenizer_profile import TokenizerProfile
from trlm_lab.errors import Refused
from trlm_lab.flows.tokenizer_engines import read_reference
from trlm_lab.flows.tokenizer_requests import TokenizerFile
from trlm_lab.receipts import ReceiptStore
from trlm_lab.text.profile import UNICODE, profile_of
from trlm_lab.text.sentencepiece import SentencePieceTokenizer
from trlm_lab.text.sentencepiece.profile import sentencepiece_profile
from trlm_lab.text.tables import ENGINE
from trlm_lab.text.vectors.samples import AnyTokenizer

#: By kind of file: the library whose behaviour is pinned, and the versions of its character data.
#: What is compiled follows the library that it was compiled from.
_FOLLOWED = {
    "GGUF": ("llama.cpp of llama-cpp-python 0.3.36", {"tables": "llama-cpp-python 0.3.36"}),
    "BTOK": ("TinyRustLM BTOK", UNICODE),
    "BPE1": ("TinyRustLM BPE1", UNICODE),
}


@dataclass(frozen=True)
class Profiled:
    """A profile and the file."""

    file_sha256: str
    profile: TokenizerProfile

    def row(self) -> dict[str, Any]:
        """JSON-ready row."""
        named = {"profile_id": self.profile.profile_id, "file_sha256": self.file_sha256}
        return {**named, "profile": self.profile.to_map()}


def tokenizer_node(store: ReceiptStore, root: Path, sha256: str, tree: str) -> str:
    """The node of the tokenizer.json below `root`; without profile where the reference refuses it.

    Args:
        store: where the node and its profile go.
        root: the directory of the snapshot.
        sha256: of the file, as the snapshot has it.
        tree: the node of the source tree.
    """
    facts = {"file": "tokenizer.json", "sha256": sha256}
    try:
        profile = profile_file(root / "tokenizer.json").profile
    except Refused:
        return store.add("tokenizer_profile", facts, [tree])
    blob = store.put_value(profile.to_map())
    facts |= {"profile_id": profile.profile_id, "profile_blob": blob}
    return store.add("tokenizer_profile", facts, [tree])


def profile_file(path: Path) -> Profiled:
    """The profile of a file of any kind that the reference reads.

    Raises:
        PathMissingError, and whatever the reference refuses.
    """
    file = TokenizerFile.at(path)
    profile = profile_of_file(file, read_reference(file))
    with path.open("rb") as stream:
        return Profiled(hashlib.file_digest(stream, "sha256").hexdigest(), profile)


def profile_of_file(file: TokenizerFile, tokenizer: AnyTokenizer) -> TokenizerProfile:
    """The profile of a tokenizer that was read from a file."""
    if isinstance(tokenizer, SentencePieceTokenizer):
        return sentencepiece_profile(tokenizer)
    # Only tokenizers of GGUF files have a search of their own for added tokens, compiled ones too.
    kind = "GGUF" if tokenizer.given else file.kind
    source, unicode = _FOLLOWED.get(kind, (ENGINE, UNICODE))
    return profile_of(tokenizer, source=source, unicode=unicode)
