"""Every component of tokenizer.json by name, as the product of the tests takes them."""

from typing import Any

from tests.text.constructed import (
    added,
    bpe,
    byte_bpe,
    document,
    unigram,
    word_level,
    word_piece,
)

BEHAVIOURS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

ADDED = [
    added("<s>", 900, "special"),
    added("<mask>", 901, "special", "lstrip", "normalized"),
    added("Word", 902, "single_word", "normalized"),
    added("\ufb01x", 903, "normalized"),
    added("\xe9x", 904),
    added("a b", 905, "rstrip"),
    added("ma", 906),
]


def kind(name: str, **fields: Any) -> dict[str, Any]:
    """A component."""
    return {"type": name, **fields}


def byte_level(prefix: bool = False, trim: bool = True, regex: bool = True) -> dict[str, Any]:
    """The ByteLevel component."""
    return kind("ByteLevel", add_prefix_space=prefix, trim_offsets=trim, use_regex=regex)


def bert(clean: bool, chinese: bool, accents: bool | None, lower: bool) -> dict[str, Any]:
    """The BertNormalizer."""
    return kind(
        "BertNormalizer", clean_text=clean, handle_chinese_chars=chinese, strip_accents=accents,
        lowercase=lower,
    )  # fmt: skip


def replaced(pattern: dict[str, str], content: str) -> dict[str, Any]:
    """The Replace component."""
    return kind("Replace", pattern=pattern, content=content)


def metaspace(scheme: str = "always", split: bool = True) -> dict[str, Any]:
    """The Metaspace component in its new spelling."""
    return kind("Metaspace", replacement="\u2581", prepend_scheme=scheme, split=split)


def split(pattern: str, behaviour: str, invert: bool = False) -> dict[str, Any]:
    """The Split pre-tokenizer."""
    return kind("Split", pattern={"Regex": pattern}, behavior=behaviour, invert=invert)


SPACE = {"String": " "}
NORMALIZERS: dict[str, Any] = {
    "none": None,
    **{name: kind(name) for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents")},
    "Nmt": kind("Nmt"),
    "ByteLevel": kind("ByteLevel"),
    "Strip": kind("Strip", strip_left=True, strip_right=True),
    "StripLeft": kind("Strip", strip_left=True, strip_right=False),
    "Bert": bert(True, True, None, True),
    "BertCased": bert(False, True, False, False),
    "Prepend": kind("Prepend", prepend="\u2581"),
    "Replace": replaced(SPACE, "\u2581"),
    "ReplaceRuns": replaced({"Regex": r"\s+"}, " "),
    "ReplaceByNothing": replaced({"Regex": "[aeiou]"}, ""),
    "Sequence": kind(
        "Sequence", normalizers=[kind("NFKD"), kind("StripAccents"), kind("Lowercase")]
    ),
    "Llama": kind(
        "Sequence", normalizers=[kind("Prepend", prepend="\u2581"), replaced(SPACE, "\u2581")]
    ),
}

PRE_TOKENIZERS: dict[str, Any] = {
    "none": None,
    "ByteLevel": byte_level(),
    "ByteLevelPrefix": byte_level(prefix=True),
    "ByteLevelPlain": byte_level(regex=False),
    **{n: kind(n) for n in ("Whitespace", "WhitespaceSplit", "BertPreTokenizer", "UnicodeScripts")},
    **{f"Punctuation{b}": kind("Punctuation", behavior=b) for b in BEHAVIOURS},
    "Digits": kind("Digits", individual_digits=True),
    "DigitRuns": kind("Digits", individual_digits=False),
    "MetaspaceAlways": metaspace(),
    "MetaspaceFirst": metaspace("first"),
    "MetaspaceNever": metaspace("never", split=False),
    "MetaspaceOld": kind("Metaspace", replacement="\u2581", add_prefix_space=True),
    "MetaspaceOldOff": kind(
        "Metaspace",
        replacement="\u2581",
        str_rep="\u2581",
        add_prefix_space=False,
        prepend_scheme="never",
    ),
    "CharDelimiterSplit": kind("CharDelimiterSplit", delimiter="l"),
    "FixedLength": kind("FixedLength", length=3),
    **{
        f"Split{b}{'Inverted' if invert else ''}": split(r"l+|\d", b, invert)
        for b in BEHAVIOURS
        for invert in (False, True)
    },
    "SplitLiteral": kind("Split", pattern=SPACE, behavior="MergedWithPrevious", invert=False),
    "Qwen": kind(
        "Sequence", pretokenizers=[split(QWEN, "Isolated"), byte_level(trim=False, regex=False)]
    ),
    "O200k": kind(
        "Sequence", pretokenizers=[split(O200K, "Removed", True), byte_level(regex=False)]
    ),
}

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
SCORES = {
    "<unk>": 0.0, "\u2581": -2.0, "h": -3.0, "he": -2.5, "hello": -4.0, "l": -2.0, "lo": -3.0,
    "o": -1.0, "\u2581w": -3.0, "or": -3.0, "w": -2.0, "a": -1.0, "aa": -2.0, "b": -1.5,
    "ab": -2.5, "\xe9": -4.0,
}  # fmt: skip
MODELS: dict[str, Any] = {
    "bytes": byte_bpe(),
    "ignore_merges": byte_bpe(ignore_merges=True),
    "fused": bpe(["he", "hell", "\u2581w"], first=["[U]"], unk_token="[U]", fuse_unk=True),
    "single": bpe(["he", "hell", "\u2581w"], first=["[U]"], unk_token="[U]"),
    "silent": bpe(["he", "hell", "\u2581w"]),
    "fallback": bpe(
        ["he", "hell", "\u2581w", "\u2581\u2581"], first=["<unk>", *BYTES], unk_token="<unk>",
        fuse_unk=True, byte_fallback=True,
    ),
    "some_bytes": bpe(
        ["he", "hell"], first=["<unk>", *BYTES[0x80:0xC8]], unk_token="<unk>", byte_fallback=True
    ),
    "suffix": bpe(
        ["he", "hell"], first=["[U]", "o</w>", "d</w>"], unk_token="[U]",
        end_of_word_suffix="</w>",
    ),
    "unigram": unigram(SCORES),
    "unigram_bytes": unigram(
        {"<unk>": 0.0, **dict.fromkeys(BYTES, -9.0), "\u2581": -2.0, "h": -3.0, "hello": -4.0},
        byte_fallback=True,
    ),
    "word_piece": word_piece(
        ["he", "##llo", "h", "##e", "w", "##o", "##r", "##ld", "hello", "a", "##b", "1", "##2",
         "\u4e2d", "\xe9", "##\xe9"]
    ),
    "short_words": word_piece(["a", "##a", "h", "##e", "##l"], max_input_chars_per_word=3),
    "word_level": word_level(["hello", "world", "a", "b", ",", "1"]),
}  # fmt: skip

#: Scalars alone: every place where a stage cuts or changes something shows in the offsets.
SCALARS = bpe([], first=["[U]"], unk_token="[U]")

TEMPLATE = kind(
    "TemplateProcessing",
    single=[{"SpecialToken": {"id": "[C]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    pair=[{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    special_tokens={"[C]": {"id": "[C]", "ids": [7, 8], "tokens": ["x", "y"]}},
)
POST_PROCESSORS: dict[str, Any] = {
    "none": None,
    "ByteLevelPrefix": byte_level(prefix=True),
    "ByteLevel": byte_level(),
    "ByteLevelUntrimmed": byte_level(trim=False),
    "Bert": kind("BertProcessing", sep=["[SEP]", 1], cls=["[CLS]", 2]),
    "Roberta": kind(
        "RobertaProcessing", sep=["</s>", 1], cls=["<s>", 2], trim_offsets=True,
        add_prefix_space=True,
    ),
    "Template": TEMPLATE,
    "Sequence": kind("Sequence", processors=[byte_level(), TEMPLATE]),
}  # fmt: skip

FALLBACK = [
    replaced({"String": "\u2581"}, " "), kind("ByteFallback"), kind("Fuse"),
    kind("Strip", content=" ", start=1, stop=0),
]  # fmt: skip
DECODERS: dict[str, Any] = {
    "none": None,
    "ByteLevel": byte_level(),
    "WordPiece": kind("WordPiece", prefix="##", cleanup=True),
    "WordPiecePlain": kind("WordPiece", prefix="##", cleanup=False),
    "Metaspace": metaspace(),
    "MetaspaceNever": metaspace("never"),
    "BPEDecoder": kind("BPEDecoder", suffix="</w>"),
    "CTC": kind("CTC", pad_token="a", word_delimiter_token="|", cleanup=True),
    "Llama": kind("Sequence", decoders=FALLBACK),
    "StripStart": kind("Strip", content="l", start=2, stop=0),
    "StripStop": kind("Strip", content="o", start=0, stop=1),
    "ReplaceRegex": replaced({"Regex": "l+"}, "L"),
    "Fuse": kind("Fuse"),
}


def assembled(
    model: str = "scalars",
    *,
    normalizer: str = "none",
    pre_tokenizer: str = "none",
    post_processor: str = "none",
    decoder: str = "none",
    added_tokens: bool = True,
) -> dict[str, Any]:
    """A tokenizer.json of components by their names here, with or without the added tokens."""
    models = {"scalars": SCALARS, "words": word_level(["a"])} | MODELS
    return document(
        models[model],
        normalizer=NORMALIZERS[normalizer],
        pre_tokenizer=PRE_TOKENIZERS[pre_tokenizer],
        post_processor=POST_PROCESSORS[post_processor],
        decoder=DECODERS[decoder],
        added_tokens=ADDED if added_tokens else [],
    )
