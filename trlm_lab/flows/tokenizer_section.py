"""What the tokenizer section of an artifact holds: TOK2, made from the files of a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from trlm_lab.base import strict_json
from trlm_lab.base.plain_file import read_plain
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.describe import DeclaredTemplate
from trlm_lab.errors import Refused
from trlm_lab.flows.model_templates import template_bytes
from trlm_lab.text import Tokenizer, read_tokenizer
from trlm_lab.text.sentencepiece import SentencePieceTokenizer
from trlm_lab.text.sentencepiece.model_file import CONTROL, UNKNOWN
from trlm_lab.text.tok2 import ROLES, write_tok2

Role = tuple[str, int]


def tokenizer_section(
    root: Path,
    config: EffectiveConfig,
    template: DeclaredTemplate | None,
    say: Callable[[str], None],
) -> bytes:
    """TOK2 with the configuration's special ids and the model's chat template, compiled.

    A tokenizer that does not compile is stored as the file that it is, a template that does not is
    left out; `say` is told which rule stands against it. Empty where there is no tokenizer.
    """
    path = root / "tokenizer.json"
    if not path.exists():
        return b""
    compiled = b""
    try:
        compiled = compiled_template(template)
    except Refused as error:
        say(f"the chat template is not stored: {error}")
    try:
        tokenizer = read_tokenizer(strict_json.load_object(path))
        return write_tok2(tokenizer, roles=config_roles(tokenizer, config), template=compiled)
    except Refused as error:
        say(f"the tokenizer is stored as tokenizer.json: {error}")
        return read_plain(path)


def config_roles(tokenizer: Tokenizer, config: EffectiveConfig) -> list[Role]:
    """The special ids of a configuration, as far as the tokenizer has them."""
    rows: list[tuple[str, int | None]] = [
        ("bos", config.bos_token_id),
        *(("eos", number) for number in config.eos_token_id),
        ("pad", config.pad_token_id),
        ("unk", config.unk_token_id),
    ]
    return [
        (role, number)
        for role, number in rows
        if number is not None and tokenizer.token_text(number) is not None
    ]


def file_roles(tokenizer: Tokenizer, document: dict[str, Any]) -> list[Role]:
    """The special tokens of a tokenizer_config.json, as far as the tokenizer has them."""
    ids = {**tokenizer.model.ids, **{one.content: one.id for one in tokenizer.added}}
    return [(role, ids[text]) for role, text in _special_texts(document) if text in ids]


def piece_roles(tokenizer: SentencePieceTokenizer) -> list[Role]:
    """The special pieces that a SentencePiece model names, if they are what their role wants."""
    rows = [
        (role, number, CONTROL if role != "unk" else UNKNOWN)
        for role, text in tokenizer.file.special.items()
        for number, piece in enumerate(tokenizer.file.pieces)
        if piece.text == text
    ]
    return [(role, n) for role, n, kind in rows if tokenizer.file.pieces[n].type == kind]


def _special_texts(document: dict[str, Any]) -> Iterable[tuple[str, str]]:
    for role in ROLES:
        value = document.get(f"{role}_token")
        text = value.get("content") if isinstance(value, dict) else value
        if isinstance(text, str):
            yield role, text


def compiled_template(template: DeclaredTemplate | None) -> bytes:
    """The compiled form of a chat template; empty where there is none.

    Raises:
        TemplateUnsupportedError and its neighbours: the template is outside the subset.
    """
    from trlm_lab.chat import compile_template

    if template is None:
        return b""
    return compile_template(template_bytes(template), where=template.place).ir.encoded
