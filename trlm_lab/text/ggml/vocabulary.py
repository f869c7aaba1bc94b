"""Tokens of a GGUF file with scores and kinds, the kinds corrected by text as llama.cpp does.

Source of facts: llama_vocab::impl::load in src/llama-vocab.cpp (lines 2448 to 3078) of
llama-cpp-python 0.3.36.
"""

from __future__ import annotations

from dataclasses import dataclass

from trlm_lab.errors import TokenizerVocabularyError
from trlm_lab.text.added_tokens import AddedToken
from trlm_lab.text.ggml.metadata import PREFIX, Metadata

#: Kinds in the file, by number; others are undefined.
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
#: What the file calls nothing, but its text does: one token of each group, if no key names one.
_ROLES: dict[str, tuple[str, ...]] = {
    "eom": ("<|eom_id|>",),
    "fim_pre": (
        "<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<\uff5cfim\u2581begin\uff5c>", "<PRE>",
        "\u2581<PRE>", "<|code_prefix|>", "<|prefix|>",
    ),
    "fim_suf": (
        "<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<\uff5cfim\u2581hole\uff5c>", "<SUF>",
        "\u2581<SUF>", "<|code_suffix|>", "<|suffix|>",
    ),
    "fim_mid": (
        "<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<\uff5cfim\u2581end\uff5c>", "<MID>",
        "\u2581<MID>", "<|code_middle|>", "<|middle|>",
    ),
    "fim_pad": ("<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"),
    "fim_rep": ("<|fim_repo|>", "<fim-repo>", "<|repo_name|>", "<REPO>", "<reponame>"),
    "fim_sep": ("<|file_sep|>",),
}  # fmt: skip
_OLD_NAMES = {"fim_pre": "prefix", "fim_suf": "suffix", "fim_mid": "middle"}
#: What ends a text: these are control tokens whatever the file says.
_ENDS = (
    "<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>",
    "<end_of_turn>", "<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]",
    "<|end_of_text|>", "<end_of_utterance>", "<eos>", "<turn|>", "<|tool_response>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>", "[e~[",
)  # fmt: skip
_ALWAYS_SHOWN = ("<|channel|>", "<|message|>", "<|start|>", "<|constrain|>")
_MASKED_WORDS = ("jina-v2-de", "jina-v2-es", "jina-v2-code")
_MASKED_ARCHITECTURES = ("nomic-bert-moe", "jina-bert-v3")
#: Phi-3's tokens that do not take white space along.
_PHI_KEPT = ("<unk>", "<s>", "<|endoftext|>")


@dataclass
class Vocabulary:
    """Tokens by id, with float32 scores and kinds; `special` also takes in what became control."""

    tokens: list[str]
    scores: list[float]
    kinds: list[int]
    ids: dict[str, int]
    control: set[int]
    left: set[int]
    right: set[int]

    def added(self) -> tuple[AddedToken, ...]:
        """Control, unknown and user-defined tokens: they are looked for in the text."""
        return tuple(
            AddedToken(
                number, self.tokens[number], False, number in self.left, number in self.right,
                False, self.is_special(number),
            )
            for number, kind in enumerate(self.kinds)
            if kind == USER_DEFINED or self.is_special(number)
        )  # fmt: skip

    def is_special(self, number: int) -> bool:
        """Whether a token is a control token or the unknown one."""
        return number in self.control or self.kinds[number] == UNKNOWN


def read_vocabulary(metadata: Metadata, pre: str) -> Vocabulary:
    """The vocabulary; `pre` is the word of the pre-tokenizer as the file has it.

    Raises:
        TokenizerFieldError: a list of another kind or length.
        TokenizerVocabularyError: a token that occurs twice; two texts that could play one role.
    """
    # Texts end at a NUL there, and an empty one gets a name.
    texts = [text.partition("\0")[0] for text in metadata.rows("tokens", str)]
    tokens = [text or f"[EMPTY_{number}]" for number, text in enumerate(texts)]
    ids = {text: number for number, text in enumerate(tokens)}
    if len(ids) != len(tokens):
        twice = next(text for number, text in enumerate(tokens) if ids[text] != number)
        raise TokenizerVocabularyError(where=f"{PREFIX}tokens", detail=f"{twice!r} occurs twice")
    if not tokens:
        raise TokenizerVocabularyError(where=f"{PREFIX}tokens", detail="there is no token")
    scores = metadata.rows("scores", float, len(tokens)) or [0.0] * len(tokens)
    kinds = metadata.rows("token_type", int, len(tokens)) or [NORMAL] * len(tokens)
    kinds = kinds[: len(tokens)]
    control = {number for number, kind in enumerate(kinds) if kind == CONTROL}
    found = Vocabulary(tokens, scores[: len(tokens)], kinds, ids, control, set(), set())
    _settle_roles(found, metadata)
    _settle_ends(found)
    _settle_strips(found, metadata, pre)
    return found


def _settle_roles(found: Vocabulary, metadata: Metadata) -> None:
    for role, texts in _ROLES.items():
        names = {role, _OLD_NAMES.get(role, role)}
        ids = [metadata.number(f"{name}_token_id", len(found.tokens), None) for name in names]
        numbers = [found.ids[text] for text in texts if text in found.ids]
        if any(number is not None for number in ids):
            continue
        if len(numbers) > 1 and not found.control.issuperset(numbers):
            shown = ", ".join(repr(found.tokens[number]) for number in numbers)
            detail = f"any of {shown} could be {role}, and no key says which"
            raise TokenizerVocabularyError(where=f"{PREFIX}tokens", detail=detail)
        found.control.update(numbers)


def _settle_ends(found: Vocabulary) -> None:
    ids = found.ids
    found.control.update(ids[text] for text in _ENDS if text in ids)
    for text in _ALWAYS_SHOWN:
        if text in ids:
            _set_kind(found, ids[text], USER_DEFINED)
    calls = "<|call|>" in ids or "<|calls|>" in ids
    if "<|end|>" in ids and calls and ("<|return|>" in ids or "<|flush|>" in ids):
        _set_kind(found, ids["<|end|>"], USER_DEFINED)
    if "</s>" in ids and "<|tool_response>" in ids:
        _set_kind(found, ids["</s>"], NORMAL)


def _set_kind(found: Vocabulary, number: int, kind: int) -> None:
    found.kinds[number] = kind
    found.control.discard(number)


def _settle_strips(found: Vocabulary, metadata: Metadata, pre: str) -> None:
    """Tokens that take white space along, which no key says."""
    name, architecture = metadata.general("name").lower(), metadata.general("architecture")
    masked = any(word in pre for word in _MASKED_WORDS)
    if masked or any(word in architecture for word in _MASKED_ARCHITECTURES):
        found.left |= _present(found, "<mask>")
    elif "phi-3" in name or "phi3" in name:
        kept, ends = _present(found, *_PHI_KEPT), _present(found, "</s>")
        if len(kept) != len(_PHI_KEPT) or not ends:
            detail = f"a Phi-3 vocabulary has {', '.join(_PHI_KEPT)} and </s>"
            raise TokenizerVocabularyError(where=f"{PREFIX}tokens", detail=detail)
        found.right = {token.id for token in found.added()} - kept | ends
    elif "modern-bert" in name:
        found.left |= _present(found, "[MASK]")


def _present(found: Vocabulary, *texts: str) -> set[int]:
    return {found.ids[text] for text in texts if text in found.ids}
