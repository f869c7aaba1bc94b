"""What each word of `tokenizer.ggml.pre` means: patterns, one cut after the other, and switches.

Source of facts: llama.cpp as llama-cpp-python 0.3.36 has it, src/llama-vocab.cpp: patterns in lines
283 to 570, words in lines 2159 to 2426. Patterns are written as there, with two exceptions that
src/unicode.cpp makes itself: where its own code stands in for a pattern (GPT2), that code also
matches the white space that is left; and `$` is the end alone, here `\\Z`.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Groups of three digits from the right, by code of their own (unicode.cpp, line 929).
DIGIT_GROUPS = "digit groups"

_END = r"'(?:[sS]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])"
_WORD = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_SIGNS = r" ?[^\s\p{L}\p{N}]+"
_SPACE = r"\s+(?!\S)|\s+"
_LINES = r"\s*[\r\n]+"
_CJK = "\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff"
_ASIA = "\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff"
_ASCII_SIGN = r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]"""


def _modern(numbers: str, *, signs: str = rf"{_SIGNS}[\r\n]*", lines: str = _LINES) -> str:
    """Endings, words with one sign before, numbers, signs, line ends, spaces."""
    return f"{_END}|{_WORD}|{numbers}|{signs}|{lines}|{_SPACE}"


def _cased(letter: str, ending: str, numbers: str) -> str:
    """Words whose capitals come first."""
    upper, lower = (f"((?=[{letter}])([^{gone}]))" for gone in ("a-z", "A-Z"))
    before = r"[^\r\n\p{L}\p{N}]?"
    words = f"{before}{upper}*{lower}+{ending}|{before}{upper}+{lower}*{ending}"
    return f"{words}|{numbers}|{_SIGNS}[\\r\\n/]*|{_LINES}|{_SPACE}"


_GPT2 = rf"'s|'t|'re|'ve|'m|'ll|'d| ?\p{{L}}+| ?\p{{N}}+|{_SIGNS}|{_SPACE}"
_LLAMA3, _QWEN2 = _modern(r"\p{N}{1,3}"), _modern(r"\p{N}")
_QWEN35 = (
    rf"{_END}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*"
    rf"|{_LINES}|{_SPACE}"
)
_SIGNED = (
    rf"{_ASCII_SIGN}[A-Za-z]+|[^\r\n\p{{L}}\p{{P}}\p{{S}}]?[\p{{L}}\p{{M}}]+| ?[\p{{P}}\p{{S}}]+"
)
#: llama.cpp has one class for letters of every case.
_CASELESS = (
    rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]*[\p{{L}}\p{{M}}]+(?:{_END})?"
    rf"|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+[\p{{L}}\p{{M}}]*(?:{_END})?"
)
_FINNISH = " ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"
_JAIS_SPACE = "|".join(
    [rf"\s{{{1 << n}}}(?!\S)" for n in range(9, 1, -1)] + [r"\s{1,2}(?!\S)|\s{1}"]
)
#: Letters of European scripts; given as an alternation of ranges in the source.
_EUROPE = (
    "A-Za-z\xb5\xc0-\xd6\xd8-\xf6\xf8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373"
    "\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481"
    "\u048a-\u052f\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf"
    "\u1d00-\u1d2b\u1d6b-\u1d77\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d"
    "\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4"
    "\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107"
    "\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f"
    "\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d"
    "\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17"
    "\uff21-\uff3a\uff41-\uff5a\U00010400-\U0001044f\U000104b0-\U000104d3\U000104d8-\U000104fb"
    "\U00010c80-\U00010cb2\U00010cc0-\U00010cf2\U000118a0-\U000118df\U0001e900-\U0001e943"
)
_ASIA_AFMOE = (
    "\u4e00-\u9fff\u3400-\u4dbf\u8c48-\ufaff\u3040-\u309f\u30a0-\u30ff\uff65-\uff9f\u2f00-\u2fdf"
    "\u0e40-\u0e7f\u0e80-\u0eff\u1780-\u17ff\u1000-\u109f\uaa60-\uaa7f\ua9e0-\ua9ff\uac00-\ud7af"
    "\u1100-\u11ff"
)
_YOUTU = (
    "[\uac00-\ud7a3\u3131-\u318e]+|[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c"
    f"\u3001-\u303f\ufe30-\ufe4f]+|[\u3105-\u312f]+|[{_CJK}]+"
)

#: Patterns by the source's own names of groups of words.
PATTERNS: dict[str, tuple[str, ...]] = {
    "default": (r"[\p{P}\$\+<=>\^~\|]+", _GPT2, r"\p{N}+", "[0-9][0-9][0-9]"),
    "gpt2": (_GPT2,),
    "starcoder": (r"\p{N}", _GPT2),
    "falcon": (r"[\p{P}\$\+<=>\^~\|`]+", _GPT2, "[0-9][0-9][0-9]"),
    "llama3": (_LLAMA3,),
    "qwen2": (_QWEN2,),
    "qwen35": (_QWEN35,),
    "gpt4o": (_cased(r"\p{L}", f"(?:{_END})?", r"\p{N}{1,3}"),),
    "granite-emb-multi": (_cased(r"\p{L}\p{M}", f"(?:{_END})?", r"\p{N}{1,3}"),),
    "tekken": (_cased(r"\p{L}", "", r"\p{N}"),),
    "deepseek-llm": (
        "[\r\n]",
        rf"\s?[{_EUROPE}]+",
        "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+",
        r"\s+\Z",
        f"[{_ASIA}]+",
        r"\p{N}+",
    ),
    "deepseek-coder": ("[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", f"[{_ASIA}]+", r"\p{N}"),
    "deepseek3": (r"\p{N}{1,3}", f"[{_CJK}]+", rf"{_SIGNED}[\r\n]*|{_LINES}|{_SPACE}"),
    "spark": (r"\p{N}{1,3}", f"[{_CJK}]+", rf"{_SIGNED}|[\r\n]|{_SPACE}", r"\p{N}"),
    "afmoe": (DIGIT_GROUPS, f"[{_ASIA_AFMOE}]+", rf"{_SIGNED}[\r\n]*|{_LINES}|{_SPACE}"),
    "youtu": (_YOUTU, rf"{_CASELESS}|\p{{N}}|{_SIGNS}[\r\n/]*|{_LINES}|{_SPACE}"),
    "tiny-aya": (
        DIGIT_GROUPS,
        rf"{_CASELESS}|\p{{N}}{{1,3}}|{_SIGNS}[\r\n/]*|{_LINES}|{_SPACE}",
    ),
    "bloom": (_FINNISH,),
    "viking": (_FINNISH, r"\p{N}"),
    "jais2": (f"{_LLAMA3.removesuffix(_SPACE)}{_JAIS_SPACE}",),
    "bailingmoe": (_modern(r"\p{N}", lines=r"\s*[\r\n]"),),
    "seed-coder": (_modern(r"\p{N}{1}", signs=r" ?[^\s\p{L}\p{N}\r\n]+"),),
    "ufakzeka": (_QWEN2.removeprefix(f"{_END}|"),),
    "laguna": (r"[^\n]+|[\n]+", _QWEN2),
    "minicpm5": (r"\p{N}{1,3}", _modern(r"\p{N}+")),
    "exaone-moe": (
        rf"{_END}|[^\r\n\p{{L}}\p{{N}}]?(?:\p{{L}}\p{{M}}*(?: \p{{L}}\p{{M}}*)*)+|\p{{N}}"
        rf"|{_SIGNS}[\r\n/]?|\s*[\r\n]|{_SPACE}",
    ),
    "chameleon": (
        "<sentinel:[0-9]+>",
        "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
        r"([\t\n]|    |  )",
        r"\p{N}",
        r"[\p{P}!-/:-@\[-`{-~]",
        _GPT2,
    ),
    "superbpe": (r"\p{N}+", r"(?=(\d{3})+(?!\d))"),
    "lines": (r"[^\n]+|[\n]+",),
}


@dataclass(frozen=True)
class PreTokenization:
    """What a word switches on; `raw` writes texts as they are and bytes as <0xHH>.

    Spaces become U+2581 then; `lines` has a word of line ends alone looked up as it is; `tidied`
    decoding is cleaned up; `bos` is the id at the beginning where the file names none.
    """

    patterns: tuple[str, ...]
    ignore_merges: bool = False
    add_bos: bool = False
    tidied: bool = True
    raw: bool = False
    lines: bool = False
    bos: int | None = 11


def _words(text: str, kind: str, **switches: bool | None) -> dict[str, PreTokenization]:
    return {word: PreTokenization(PATTERNS[kind], **switches) for word in text.split()}  # type: ignore[arg-type]


#: Every word that is built; one that is not here is refused by name.
PRE_TOKENIZATIONS: dict[str, PreTokenization] = {
    **_words("default", "default"),
    **_words(
        "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
        "llama3", ignore_merges=True, add_bos=True,
    ),
    **_words("dbrx smaug-bpe", "llama3"),
    **_words("chatglm-bpe", "llama3", bos=None),
    **_words("glm4 glm5", "llama3", bos=None, ignore_merges=True),
    **_words("minicpm5", "minicpm5", ignore_merges=True),
    **_words("jais-2", "jais2"),
    **_words("deepseek-llm", "deepseek-llm", tidied=False),
    **_words("deepseek-coder", "deepseek-coder", tidied=False),
    **_words("deepseek-v3 hunyuan-dense hy_v4 joyai-llm", "deepseek3", tidied=False),
    **_words("spark2_5", "spark", tidied=False),
    **_words("youtu", "youtu", tidied=False, ignore_merges=True),
    **_words("falcon", "falcon"),
    **_words(
        "gpt-2 phi-2 jina-es jina-de gigachat jina-v2-es jina-v2-de a.x-4.0 mellum modern-bert"
        " jina-v1-en jina-v2-code roberta-bpe mpt olmo jais exaone4",
        "gpt2",
    ),
    **_words("trillion granite-docling", "gpt2", tidied=False),
    **_words("starcoder refact codeshell exaone minerva-7b mellum2", "starcoder"),
    **_words("command-r smollm", "starcoder", tidied=False),
    **_words("stablelm2 megrez", "qwen2"),
    **_words(
        "qwen2 deepseek-r1-qwen kormo f2llmv2 hunyuan grok-2 solar-open", "qwen2", tidied=False
    ),
    **_words("qwen35", "qwen35", tidied=False),
    **_words("bloom gpt3-finnish", "bloom"),
    **_words("poro-chat", "bloom", tidied=False),
    **_words("viking", "viking", tidied=False),
    **_words("tekken", "tekken", tidied=False, ignore_merges=True, add_bos=True),
    **_words("gpt-4o llama4 kanana2 talkie minimax-m2", "gpt4o", tidied=False),
    **_words("granite-embed-multi-97m", "granite-emb-multi", tidied=False, ignore_merges=True),
    **_words("tiny_aya cohere2moe", "tiny-aya", tidied=False),
    **_words("chameleon", "chameleon", tidied=False, add_bos=True),
    **_words("superbpe", "superbpe", tidied=False),
    **_words("bailingmoe bailingmoe2 llada-moe", "bailingmoe", tidied=False),
    **_words("seed-coder", "seed-coder", tidied=False),
    **_words("ufakzeka", "ufakzeka", tidied=False),
    **_words("afmoe", "afmoe", tidied=False),
    **_words("laguna", "laguna", tidied=False),
    **_words("exaone-moe", "exaone-moe"),
    **_words("gemma4 granite-embed-multi-311m", "lines", raw=True, lines=True, add_bos=True),
    **_words("sarvam-moe", "lines", raw=True, tidied=False),
}  # fmt: skip
#: Words that llama.cpp has and this does not, with the reason.
NOT_BUILT = {
    "kimi-k2": "its text is cut by code of its own, and it has no merges",
    "whitespace": "it belongs to the tokenizer model `whitespace`",
}
