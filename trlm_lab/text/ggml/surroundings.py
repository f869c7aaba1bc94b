"""What stands around the model of a GGUF tokenizer: added ids, decoding, and what to know of it.

Source of facts: src/llama-vocab.cpp of llama-cpp-python 0.3.36.
"""

from __future__ import annotations

from trlm_lab.errors import TokenizerVocabularyError
from trlm_lab.text.ggml.decoding import Pieces, Tidied
from trlm_lab.text.ggml.metadata import PREFIX, Metadata
from trlm_lab.text.ggml.partition import Partition
from trlm_lab.text.ggml.vocabulary import BYTE, NORMAL, USER_DEFINED, Vocabulary
from trlm_lab.text.post_processors import Template, inserted
from trlm_lab.text.tokenizer import Component


def around(
    metadata: Metadata,
    vocabulary: Vocabulary,
    bos: int | None,
    *,
    eos: int | None = 11,
    add_bos: bool,
    add_eos: bool = False,
    force_bos: bool = False,
) -> tuple[Component, ...]:
    """The tokens that llama.cpp puts around a text.

    Raises:
        TokenizerVocabularyError: one is to be put there, and the vocabulary has none.
    """
    size = len(vocabulary.tokens)
    wanted = (
        ("bos", bos, metadata.take("add_bos_token", bool, add_bos) or force_bos),
        ("eos", eos, metadata.take("add_eos_token", bool, add_eos)),
    )
    tokens = []
    for name, default, put in wanted:
        number = metadata.number(f"{name}_token_id", size, default) if put else None
        if put and number is None:
            detail = f"add_{name}_token is true, and there is no such token"
            raise TokenizerVocabularyError(where=f"{PREFIX}{name}_token_id", detail=detail)
        tokens.append(() if number is None else (inserted(number, vocabulary.tokens[number]),))
    return (
        Component(f"{PREFIX}add_bos_token", "Template", Template((*tokens[0], None, *tokens[1]))),
    )


def decoders(
    vocabulary: Vocabulary,
    *,
    visible: bool,
    tidied: bool,
    strip_first: bool = False,
) -> tuple[Component, ...]:
    """The texts of tokens by kind, and the tidying of a byte-level or WordPiece vocabulary."""
    plain, byte, silent = set(), set(), set()
    for number, (text, kind) in enumerate(zip(vocabulary.tokens, vocabulary.kinds, strict=True)):
        if vocabulary.is_special(number) or kind == USER_DEFINED:
            plain.add(text)
        elif kind == BYTE:
            byte.add(text)
        elif kind != NORMAL:
            silent.add(text)
    pieces = Pieces(visible, frozenset(plain), frozenset(byte), frozenset(silent), strip_first)
    stages: list[Component] = [Component(f"{PREFIX}token_type", "pieces", pieces)]
    if tidied:
        stages.append(Component(f"{PREFIX}pre", "tidied", Tidied()))
    return tuple(stages)


def notes(vocabulary: Vocabulary, *more: str) -> tuple[str, ...]:
    """What is said to the user: `more`, and whether llama.cpp leaves an order open."""
    found = Partition(vocabulary.added()).ambiguous()
    if found is None:
        return more
    return (
        *more,
        f"{found[0]!r} and {found[1]!r} can overlap; llama.cpp leaves open which is found",
    )
