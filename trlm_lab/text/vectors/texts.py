"""Texts of the minimum corpus that are the same for every tokenizer; all were written here."""

from __future__ import annotations

#: Where a scalar of interest stands.
FRAMES = (
    "{0}", "{0}{0}", "{0}{0}{0}", "{0}a", "a{0}", "a{0}b", "a{0}{0}b", "{0} a", "a {0}", "a {0} b",
    " {0}", "{0} ", " {0} ", "1{0}2", "a,{0}b", "a.{0}B", "\xe9{0}\xe9", "\u4e2d{0}\u6587",
    "{0}\n", "\n{0}", "'{0}s", "word{0}word{0}word",
)  # fmt: skip

ASCII = (
    "a", "Z", "hello", "Hello, World!", "The quick brown fox jumps over the lazy dog.",
    "Don't you'll we've I'm he'd they're it's", "DON'T YOU'LL WE'VE I'M", "a b  c   d    e",
    "  leading", "trailing  ", "snake_case camelCase kebab-case", "x+y=z; a<b>c", "$12.50 & 100%",
    "user@example.org", "https://example.org/a?b=c&d=e#f", "\"quoted\" 'single' `back`",
    "(round) [square] {curly} <angle>", "!@#$%^&*()_+-=[]{}|;':\",./<>?", "~`\\|",
    "A.B.C. e.g. i.e.",
    "3.14 1,000,000 1e-9 0xFF", "aaaaaaaaaaaaaaaaaaaaaaaa", "abcdefghijklmnopqrstuvwxyz",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
)  # fmt: skip

COMPOSED = (
    "caf\xe9", "\xc5ngstr\xf6m", "na\xefve", "\u0110\u1eb7ng Th\u1ecb", "\xf1and\xfa",
    "\u011e\xfc\xe7l\xfc", "\u017di\u017eek", "\u1ead\u1ec7", "\u1e69", "\u01fb", "\u304c\u3051",
    "\u30d1\u30f3", "\uac01", "\ud55c\uad6d\uc5b4", "\u0395\u03bb\u03bb\u03ac\u03b4\u03b1",
    "\u0439\u0451", "\u0929\u093c", "\u09dc", "\ufb2c", "\u2126\u212a\u212b", "\u1e9b\u0323",
    "\u0344", "\u0f73", "\u0958",
)  # fmt: skip

COMPATIBLE = (
    "\ufb01", "\ufb04x", "x\xb2", "\xbd", "\u2167", "\uff76\uff9e", "\u212b", "\ufdfa", "\u338f",
    "\u2460", "\ufe64", "\u2122", "\u2026", "\ufb00", "\u2121", "\uff46\uff55\uff4c\uff4c",
    "\U0001d400\U0001d4b7", "\u01c6", "\u017ft", "\xaa", "\ufe4f", "\u2469", "\u3314", "\u0132",
)  # fmt: skip

COMBINING = (
    "e\u0301", "a\u0323\u0301", "a\u0301\u0323", "a\u0301\u0301\u0301", "\u0301", "\u0301abc",
    " \u0301", "x\u0300\u0301\u0302\u0303\u0304\u0305", "\xe9\u0323", "q\u0307\u0323",
    "\u0928\u093f", "\u0915\u094d\u0937", "\u0e01\u0e33", "\u05e9\u05b8\u05c1",
    "\u0628\u0651\u064e",
    "\u1100\u1161\u11a8", "\uac00\u11a8", "a\u20dd", "1\u20e3", "o\u0308\u0323", "\u0b95\u0bca",
    "a\u034fb", "\u0344\u0301", "i\u0307\u0301",
)  # fmt: skip

ZERO_WIDTH = ("\u200b", "\u200c", "\u200d", "\u2060", "\xad", "\u180e", "\u034f", "\ufe0f")
BIDI = (
    "\u200e", "\u200f", "\u061c", "\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066",
    "\u2067", "\u2068", "\u2069",
)  # fmt: skip

EMOJI = (
    "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
    "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", "\U0001f44d\U0001f3fd", "1\ufe0f\u20e3",
    "\u2764\ufe0f", "\U0001f3f4\u200d\u2620\ufe0f", "\u260e\ufe0e", "\U0001f642\U0001f642",
    "\U0001f642", "a\U0001f642b", " \U0001f642 ", "\U0001f1e9", "\U0001f1e9\U0001f1ea\U0001f1eb",
    "#\ufe0f\u20e3*\ufe0f\u20e3", "\U0001f468\U0001f3fb\u200d\U0001f4bb",
    "\u2764\ufe0f\u200d\U0001f525",
    "\U0001f44d\U0001f3fb\U0001f44d\U0001f3ff", "\U0001f3fd", "\u200d\U0001f642",
    "\U0001f642\u200d",
    "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "\u231a\u23f0",
    "\U0001fae0", "\xa9\ufe0f\xae",
)  # fmt: skip

#: Fifteen scripts; Thai, Japanese, Chinese, Khmer and Burmese put no spaces between words.
SCRIPTS = (
    "Gr\xfc\xdfe aus K\xf6ln",
    "\u0395\u03bb\u03bb\u03b7\u03bd\u03b9\u03ba\u03ac \u03b3\u03c1\u03ac\u03bc\u03bc\u03b1"
    "\u03c4\u03b1",
    "\u0421\u044a\u0435\u0448\u044c \u0435\u0449\u0451 \u044d\u0442\u0438\u0445 \u0431\u0443"
    "\u043b\u043e\u043a",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd",
    "\u0627\u0644\u0633\u0644\u0627\u0645 \u0639\u0644\u064a\u0643\u0645 \u0661\u0662\u0663",
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e",
    "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01",
    "\u3053\u3093\u306b\u3061\u306f\u4e16\u754c\u30ab\u30bf\u30ab\u30ca",
    "\u4f60\u597d\uff0c\u4e16\u754c\u3002",
    "\uc548\ub155\ud558\uc138\uc694 \uac01",
    "\u10e5\u10d0\u10e0\u10d7\u10e3\u10da\u10d8",
    "\u0540\u0561\u0575\u0565\u0580\u0565\u0576",
    "\u1797\u17b6\u179f\u17b6\u1781\u17d2\u1798\u17c2\u179a",
    "\u0ba4\u0bae\u0bbf\u0bb4\u0bcd",
    "\u1019\u103c\u1014\u103a\u1019\u102c",
)

CODE = (
    "def f(x):\n    return x ** 2  # square\n", "if (a == b) { return c; }\n",
    "for (int i = 0; i < n; ++i) {\n\tsum += v[i];\n}", "let x: Vec<u8> = vec![0; 16];",
    "SELECT a, b FROM t WHERE c = 'd' AND e >= 10;", "<a href=\"x\">&amp;</a>",
    "{\"key\": [1, 2.5, null, true]}", "#include <stdio.h>\n#define MAX(a,b) ((a)>(b)?(a):(b))",
    "echo \"$HOME\" | grep -v '^#' > out.txt", "x = lambda *args, **kw: None",
    "class A(B):\n    def __init__(self):\n        super().__init__()\n", "a_b-c/d\\e|f",
    "i++; j--; k!=l",
    "fn main() -> Result<(), E> { Ok(()) }", "const f = async (x) => await g(`${x}`);",
    "0x1F 0b101 1e10 .5 5.", "key: value\nlist:\n  - a\n  - b\n", "\\begin{x} \\alpha_i^2 \\end{x}",
    "r\"\\d+\\s*\\w{2,}\"", "/* comment */ // line\n", "if x:\n        if y:\n                pass",
    "<!-- note --><p class='a'>t</p>", "package main\n\nimport \"fmt\"\n", "a ? b : c ?? d?.e",
)  # fmt: skip

#: What moves offsets: several bytes before a cut, marks, line ends, scalars that grow or vanish.
MOVING = (
    "\xe9 a", "\u4e2d a", "\U0001f642 a", "e\u0301 x", "a\u0301\u0323 b", "a\r\nb\r\nc",
    "\ufb01x y",
    "\u212b\U0001f642\u212b", "x\u200by z", "\ufeff a", "\u0130STANBUL x", "\xbd cup", "\ufdfa x",
    "\u1100\u1161\u11a8 x", "\uff46\uff55\uff4c\uff4c w", "a\xadb c", "\u3000a\u3000b",
    "  \xe9  \xe9",
    "\u0149 x", "\u1e9e x", "\U0001f469\u200d\U0001f469 x", "a\x00\xe9 x", "\u0344x y",
    "\xa0\xe9\u2003x",
)  # fmt: skip

UNUSUAL = (
    "\ue000", "\U000f0000", "\u0378", "\U0010ffff", "\ufffe", "\uffff", "\ufffd", "\U00020000",
    "\u9fff", "\U00010330", "\U00012000", "\U00013000", "\U0001d54f", "\u0e00", "\U0001fae0",
    "a\ue000b", "\ue000\ue001\ue002", "a\ue000 \ue000b", "\u2c2f", "\U000e0041", "\u1e030\u1e08f",
    "\ua7f2\ua7f3", "h\u0378\u0378e",
)  # fmt: skip

BYTE_NAMES = (
    "<0x41>", "<0xE2>", "<0x0A>", "<0x00>", "<0xFF>", "<0xZZ>", "<0x4>", "<0x41", "0x41>", "<0X41>",
    "<0xe2>", "<0xE2><0x82><0xAC>", "a<0x41>b", "\u20ac", "\u20ac\u20ac", "\U0001f642\u20ac\xe9z",
    "\x00\x01", "\x7f\x80\xff", "\u0800\uffff", "\U00010000\U0010ffff",
)  # fmt: skip
