"""The stages around the model, strictly; a sequence is read as the stages that it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from trlm_lab.errors import PostProcessorOrderError, TokenizerKindError
from trlm_lab.text import decoders, normalizers, pre_tokenizers
from trlm_lab.text.charsmap import Charsmap, CharsmapError
from trlm_lab.text.fields import Fields, escaped, shown
from trlm_lab.text.normal_forms import form_tables
from trlm_lab.text.pattern import Pattern, expression, literal
from trlm_lab.text.post_processors import PostProcessor, Template, TrimOffsets, inserted
from trlm_lab.text.records import Token
from trlm_lab.text.scalar_sets import ScalarSet
from trlm_lab.text.splitting import BEHAVIOURS
from trlm_lab.text.tables import scalar_set
from trlm_lab.text.tokenizer import Component

_DEEPEST = 8
_SCHEMES = ("always", "first", "never")
_Readers = dict[str, Callable[[Fields], Any]]


def read_normalizer(row: Any) -> tuple[Component, ...]:
    """The normalizers in order; null is none."""
    return tuple(_flat(row, "normalizer", "normalizers", _NORMALIZERS, "/normalizer"))


def read_pre_tokenizer(row: Any) -> tuple[Component, ...]:
    """The pre-tokenizers in order; null is none."""
    return tuple(_flat(row, "pre_tokenizer", "pretokenizers", _PRE_TOKENIZERS, "/pre_tokenizer"))


def read_post_processor(row: Any) -> tuple[Component, ...]:
    """The post-processors in order; null is none.

    Raises:
        PostProcessorOrderError: one that inserts tokens stands behind a TemplateProcessing.
    """
    found = list(_flat(row, "post_processor", "processors", _POST_PROCESSORS, "/post_processor"))
    places = [index for index, one in enumerate(found) if one.kind == "TemplateProcessing"]
    at = places[0] if places else len(found)
    behind = found[at + 1 :]
    for one in behind:
        if isinstance(one.stage, Template):
            raise PostProcessorOrderError(
                where=one.pointer, kind=one.kind, template=found[at].pointer
            )
    # The source joins the parts of a template at the very end: what trims, trims the text's own
    # tokens as if nothing stood before them.
    return (*found[:at], *behind, *found[at : at + 1])


def read_decoder(row: Any) -> tuple[Component, ...]:
    """The decoders in order; null is none, an empty sequence joins without spaces, as Fuse."""
    found = tuple(_flat(row, "decoder", "decoders", _DECODERS, "/decoder"))
    empty = row is not None and not found
    return (Component("/decoder", "Fuse", decoders.Fuse()),) if empty else found


def _flat(
    value: Any, stage: str, members: str, readers: _Readers, pointer: str, depth: int = 0
) -> Iterator[Component]:
    if value is None:
        return
    row = Fields(value, pointer)
    kind = row.text("type")
    if kind == "Sequence" and depth < _DEEPEST:
        for index, member in enumerate(row.rows(members)):
            place = f"{pointer}/{escaped(members)}/{index}"
            yield from _flat(member or {}, stage, members, readers, place, depth + 1)
    elif kind in readers:
        made = readers[kind](row)
        for one in made if isinstance(made, tuple) else (made,):
            yield Component(pointer, kind, one)
    else:
        known = ", ".join(["Sequence", *readers])
        place = f"{pointer}/type"
        raise TokenizerKindError(where=place, stage=stage, kind=shown(kind), known=known)
    row.done()


def _pattern(row: Fields) -> Pattern:
    inner = row.inner("pattern")
    if inner.has("Regex"):
        found = expression(inner.text("Regex"), where=inner.pointer)
    else:
        found = literal(inner.text("String"), where=inner.pointer)
    inner.done()
    return found


def _form(row: Fields) -> normalizers.Form:
    form = row.text("type")
    return normalizers.Form(form, form_tables(form))


def _bert(row: Fields) -> normalizers.Bert:
    lowercase = row.flag("lowercase")
    accents = row.take("strip_accents", None)
    return normalizers.Bert(
        row.flag("clean_text"),
        row.flag("handle_chinese_chars"),
        lowercase if accents is None else row.flag("strip_accents"),
        lowercase,
    )


def _replace(row: Fields) -> normalizers.Replace:
    return normalizers.Replace(_pattern(row), row.text("content"))


def _prepend(row: Fields) -> normalizers.Prepend:
    prefix = row.text("prepend")
    if not prefix:
        # The source takes the first scalar for one that was put there: its offsets are empty, and
        # some of the stages behind write it twice.
        raise row.fault("prepend", "an empty text moves offsets; leave the normalizer out")
    return normalizers.Prepend(prefix)


def _precompiled(row: Fields) -> Charsmap:
    try:
        return Charsmap.read(row.text("precompiled_charsmap"))
    except CharsmapError as error:
        raise row.fault("precompiled_charsmap", f"the table of characters: {error}") from error


_NORMALIZERS: _Readers = {
    "Precompiled": _precompiled,
    "NFC": _form,
    "NFD": _form,
    "NFKC": _form,
    "NFKD": _form,
    "Lowercase": lambda row: normalizers.Lowercase(),
    "Strip": lambda row: normalizers.Strip(row.flag("strip_left"), row.flag("strip_right")),
    "StripAccents": lambda row: normalizers.Without(scalar_set("accents")),
    "Nmt": lambda row: normalizers.Nmt(),
    "BertNormalizer": _bert,
    "Replace": _replace,
    "Prepend": _prepend,
    "ByteLevel": lambda row: normalizers.Bytes(),
}


def _split(row: Fields) -> pre_tokenizers.Split:
    return pre_tokenizers.Split(
        _pattern(row), row.choice("behavior", BEHAVIOURS), row.flag("invert", False)
    )


def _bert_words(row: Fields) -> tuple[pre_tokenizers.CharSplit, ...]:
    space, boundary = scalar_set("rust_space"), scalar_set("bert_boundary")
    return (
        pre_tokenizers.CharSplit(space, "Removed"),
        pre_tokenizers.CharSplit(boundary & space.inverse(), "Isolated"),
    )


def _byte_level(row: Fields) -> pre_tokenizers.ByteLevel:
    row.flag("trim_offsets", True)
    pattern = expression(pre_tokenizers.GPT2) if row.flag("use_regex", True) else None
    return pre_tokenizers.ByteLevel(row.flag("add_prefix_space"), pattern)


def _scheme(row: Fields) -> tuple[str, str, bool]:
    """Character, scheme and whether words are cut, in the old spelling or the new one."""
    char = row.char("replacement")
    row.text("str_rep", char)
    scheme = row.choice("prepend_scheme", _SCHEMES, "always")
    if not row.flag("add_prefix_space", True) and scheme != "never":
        # The source refuses it too, even where the scheme is left out.
        raise row.fault("add_prefix_space", f"false contradicts the prepend_scheme {scheme}")
    return char, scheme, row.flag("split", True)


def _delimiter(row: Fields) -> pre_tokenizers.CharSplit:
    return pre_tokenizers.CharSplit(ScalarSet.chars(row.char("delimiter")), "Removed")


def _punctuation(row: Fields) -> pre_tokenizers.CharSplit:
    behaviour = row.choice("behavior", BEHAVIOURS, "Isolated")
    return pre_tokenizers.CharSplit(scalar_set("rust_punctuation"), behaviour)


_PRE_TOKENIZERS: _Readers = {
    "ByteLevel": _byte_level,
    "Split": _split,
    "Digits": lambda row: pre_tokenizers.digits(row.flag("individual_digits")),
    "Metaspace": lambda row: pre_tokenizers.Metaspace(*_scheme(row)),
    "Whitespace": lambda row: pre_tokenizers.whitespace_words(),
    "WhitespaceSplit": lambda row: pre_tokenizers.CharSplit(scalar_set("rust_space"), "Removed"),
    "BertPreTokenizer": _bert_words,
    "Punctuation": _punctuation,
    "CharDelimiterSplit": _delimiter,
    "FixedLength": lambda row: pre_tokenizers.FixedLength(row.count("length", 5, least=1)),
    "UnicodeScripts": lambda row: pre_tokenizers.Scripts(),
}


def _trim(row: Fields) -> TrimOffsets | tuple[()]:
    prefix_space = row.flag("add_prefix_space")
    row.flag("use_regex", True)
    return TrimOffsets(prefix_space) if row.flag("trim_offsets") else ()


def _around(row: Fields) -> Template:
    return Template((_marked(row, "cls"), None, _marked(row, "sep")))


def _marked(row: Fields, key: str) -> Token:
    pair = row.rows(key)
    good = len(pair) == 2 and isinstance(pair[0], str) and isinstance(pair[1], int)
    if not good or isinstance(pair[1], bool) or pair[1] < 0:
        raise row.fault(key, f"{shown(pair)} is no token with an id")
    return inserted(pair[1], pair[0])


def _roberta(row: Fields) -> tuple[PostProcessor, ...]:
    trim = row.flag("trim_offsets", True)
    prefix_space = row.flag("add_prefix_space", True)
    return ((TrimOffsets(prefix_space),) if trim else ()) + (_around(row),)


def _template(row: Fields) -> Template:
    tokens = _special_tokens(row)
    pieces: list[Token | None] = []
    for piece in row.each("single"):
        if piece.has("Sequence"):
            inner = piece.inner("Sequence")
            inner.choice("id", ("A",))
            pieces.append(None)
        else:
            inner = piece.inner("SpecialToken")
            name = inner.text("id")
            if name not in tokens:
                raise inner.fault("id", f"{shown(name)} is none of the special_tokens")
            pieces += tokens[name]
        inner.count("type_id")
        inner.done()
        piece.done()
    # Pairs of texts are not encoded here.
    row.rows("pair", [])
    return Template(tuple(pieces))


def _special_tokens(row: Fields) -> dict[str, list[Token]]:
    out: dict[str, list[Token]] = {}
    for name, value in row.table("special_tokens").items():
        one = Fields(value, f"{row.pointer}/special_tokens/{escaped(name)}")
        one.text("id")
        ids, texts = one.rows("ids"), one.rows("tokens")
        if len(ids) != len(texts):
            raise one.fault("ids", f"{len(ids)} ids for {len(texts)} tokens")
        for number, text in zip(ids, texts, strict=True):
            whole = isinstance(number, int) and not isinstance(number, bool) and number >= 0
            if not whole or not isinstance(text, str):
                raise one.fault("ids", f"{shown(number)} and {shown(text)} are no token")
        out[name] = [inserted(number, text) for number, text in zip(ids, texts, strict=True)]
        one.done()
    return out


_POST_PROCESSORS: _Readers = {
    "TemplateProcessing": _template,
    "BertProcessing": _around,
    "RobertaProcessing": _roberta,
    "ByteLevel": _trim,
}


def _ctc(row: Fields) -> decoders.Ctc:
    return decoders.Ctc(
        row.text("pad_token"), row.text("word_delimiter_token"), row.flag("cleanup")
    )


def _byte_decoder(row: Fields) -> decoders.ByteLevel:
    for name in ("add_prefix_space", "trim_offsets", "use_regex"):
        row.flag(name, True)
    return decoders.ByteLevel()


_DECODERS: _Readers = {
    "ByteLevel": _byte_decoder,
    "ByteFallback": lambda row: decoders.ByteFallback(),
    "WordPiece": lambda row: decoders.WordPiece(row.text("prefix"), row.flag("cleanup")),
    "Metaspace": lambda row: decoders.Metaspace(*_scheme(row)[:2]),
    "BPEDecoder": lambda row: decoders.Bpe(row.text("suffix")),
    "CTC": _ctc,
    "Replace": lambda row: decoders.Replace(_pattern(row), row.text("content")),
    "Fuse": lambda row: decoders.Fuse(),
    "Strip": lambda row: decoders.Strip(row.char("content"), row.count("start"), row.count("stop")),
}
