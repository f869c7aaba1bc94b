"""Files just below the limits of the bounded readers: the most work that a stranger can ask for.

Each is the cheapest spelling of something that is dear to parse. `tools/fuzz/costly.py` measures
them; the tests hold them to the limits.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from itertools import count, islice, product
from string import ascii_letters

from trlm_lab.acquire.gguf_cursor import MAX_ELEMENTS, MAX_TEXT_BYTES
from trlm_lab.acquire.gguf_file import MAX_FIELDS, MAX_TENSORS
from trlm_lab.base.safetensors_header import MAX_HEADER_BYTES, MAX_HEADER_MARKS
from trlm_lab.base.strict_json import MAX_JSON_BYTES, MAX_JSON_MARKS

#: By name, what makes the bytes of a file; nothing is made before it is asked for.
Inputs = dict[str, Callable[[], bytes]]


def names() -> Iterator[bytes]:
    """Different short names, without end."""
    for length in count(1):
        for letters in product(ascii_letters, repeat=length):
            yield "".join(letters).encode()


def listed(head: bytes, items: Iterator[bytes], tail: bytes, size: int, marks: int) -> bytes:
    """As many items, with commas between them, as bytes and marks allow."""
    parts, left = [], size - len(head) - len(tail)
    open_marks = marks - _marks(head) - _marks(tail)
    for item in items:
        left -= len(item) + 1
        open_marks -= _marks(item) + 1
        if left < 0 or open_marks < 0:
            break
        parts.append(item)
    return head + b",".join(parts) + tail


def _marks(data: bytes) -> int:
    return sum(map(data.count, (b",", b":", b"[", b"{")))


def _same(item: bytes) -> Iterator[bytes]:
    while True:
        yield item


def _keyed(value: bytes) -> Iterator[bytes]:
    return (b'"%s":%s' % (name, value) for name in names())


# --- safetensors ------------------------------------------------------------------------------


def _rows(shape: bytes) -> Iterator[bytes]:
    form = b'"%s":{"dtype":"U8","shape":[%s],"data_offsets":[%d,%d]}'
    return (form % (name, shape, n, n + 1) for n, name in enumerate(names()))


def _header(head: bytes, items: Iterator[bytes], tail: bytes) -> bytes:
    header = listed(head, items, tail, MAX_HEADER_BYTES, MAX_HEADER_MARKS)
    payload = bytes(header.count(b'"U8"'))
    return struct.pack("<Q", len(header)) + header + payload


def _text_header(text: str) -> bytes:
    times = (MAX_HEADER_BYTES - 32) // len(text.encode())
    return _header(b'{"__metadata__":{"a":"' + (text * times).encode(), iter(()), b'"}}')


_SHAPE = b'{"a":{"dtype":"U8","data_offsets":[0,1],"shape":['

SAFETENSORS: Inputs = {
    "empty lists": lambda: _header(b'{"a":[', _same(b"[]"), b"]}"),
    "empty maps": lambda: _header(b'{"a":[', _same(b"{}"), b"]}"),
    "a long shape": lambda: _header(_SHAPE, _same(b"1"), b"]}}"),
    "a shape of signed zeros": lambda: _header(_SHAPE, _same(b"-0"), b"]}}"),
    "a shape of fractions": lambda: _header(_SHAPE, _same(b"0.0"), b"]}}"),
    "numbers of 4,000 digits": lambda: _header(_SHAPE, _same(b"9" * 4000), b"]}}"),
    "tensors": lambda: _header(b"{", _rows(b""), b"}"),
    "tensors of rank 32": lambda: _header(b"{", _rows(b",".join([b"1"] * 32)), b"}"),
    "metadata": lambda: _header(b'{"__metadata__":{', _keyed(b'""'), b"}}"),
    "keys of maps": lambda: _header(b"{", _keyed(b"{}"), b"}"),
    "escaped pairs": lambda: _text_header("\\ud83d\\ude42"),
    "escaped backslashes": lambda: _text_header("\\\\ud8"),
    "text beyond the basic plane": lambda: _text_header("\U0001f642"),
}

# --- GGUF -------------------------------------------------------------------------------------


def _text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def _gguf(fields: list[bytes], tensors: list[bytes], payload: int = 0) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(fields))
    head += b"".join(fields) + b"".join(tensors)
    return head + bytes(-len(head) % 32) + bytes(payload)


def _array(kind: int, items: bytes, length: int | None = None) -> bytes:
    count = MAX_ELEMENTS if length is None else length
    return _gguf([_text(b"a") + struct.pack("<IIQ", 9, kind, count) + items], [])


def _texts(form: bytes = b"%s") -> bytes:
    """As many texts as either limit allows; the key has one byte of theirs."""
    found, left = [], MAX_TEXT_BYTES - 1
    for name in islice(names(), MAX_ELEMENTS):
        found.append(_text(form % name))
        left -= len(found[-1]) - 8
        if left < 0:
            del found[-1]
            break
    return _array(8, b"".join(found), len(found))


def _long_text(letter: str, tail: str = "") -> bytes:
    # The key has one byte.
    times = (MAX_TEXT_BYTES - 1 - len(tail.encode())) // len(letter.encode())
    return _gguf([_text(b"a") + struct.pack("<I", 8) + _text((letter * times + tail).encode())], [])


def _fields(value: bytes) -> bytes:
    return _gguf([_text(name) + value for name in islice(names(), MAX_FIELDS)], [])


def _tensors(dimensions: list[int], *, reverse: bool = False) -> bytes:
    form = f"<I{len(dimensions)}QIQ"
    places = [32 * n for n in range(MAX_TENSORS)]
    rows = [
        _text(name) + struct.pack(form, len(dimensions), *dimensions, 0, place)
        for name, place in zip(names(), places[::-1] if reverse else places, strict=False)
    ]
    return _gguf([], rows, 32 * MAX_TENSORS)


GGUF: Inputs = {
    "empty texts": lambda: _array(8, bytes(8 * MAX_ELEMENTS)),
    "short texts": _texts,
    "wide texts": lambda: _texts("%s\U0001f642".encode()),
    "bytes": lambda: _array(0, bytes(MAX_ELEMENTS)),
    "integers": lambda: _array(10, b"\xff" * (8 * MAX_ELEMENTS)),
    "floats": lambda: _array(12, struct.pack("<d", 1.1) * MAX_ELEMENTS),
    "Booleans": lambda: _array(7, b"\x01" * MAX_ELEMENTS),
    "one text": lambda: _long_text("a"),
    "one wide text": lambda: _long_text("a", "\U0001f642"),
    "keys": lambda: _fields(struct.pack("<IB", 0, 1)),
    "keys of empty lists": lambda: _fields(struct.pack("<IIQ", 9, 0, 0)),
    "tensors": lambda: _tensors([8]),
    "tensors of rank 4": lambda: _tensors([8, 1, 1, 1]),
    "tensors in reverse": lambda: _tensors([8], reverse=True),
}

# --- tokenizer.json ---------------------------------------------------------------------------


def _tokenizer(head: bytes, items: Iterator[bytes], tail: bytes) -> bytes:
    return listed(head, items, tail, MAX_JSON_BYTES, MAX_JSON_MARKS)


_BPE = b'{"model":{"type":"BPE","vocab":{'
_MERGES = b'{"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":['
_ADDED = b'{"model":{"type":"BPE","vocab":{"a":0},"merges":[]},"added_tokens":['

TOKENIZER: Inputs = {
    "empty lists": lambda: _tokenizer(b'{"model":[', _same(b"[]"), b"]}"),
    "empty maps": lambda: _tokenizer(b'{"model":[', _same(b"{}"), b"]}"),
    "fractions": lambda: _tokenizer(b'{"model":[', _same(b"0.5"), b"]}"),
    "short texts": lambda: _tokenizer(b'{"model":[', _same('"é€🙂"'.encode()), b"]}"),
    "a vocabulary": lambda: _tokenizer(
        _BPE, (b'"%s":%d' % (name, n) for n, name in enumerate(names())), b'},"merges":[]}}'
    ),
    "merges": lambda: _tokenizer(_MERGES, _same(b'["a","b"]'), b"]}}"),
    "pieces": lambda: _tokenizer(
        b'{"model":{"type":"Unigram","vocab":[',
        (b'["%s",-1.5]' % name for name in names()),
        b'],"unk_id":0}}',
    ),
    "added tokens": lambda: _tokenizer(_ADDED, _same(b'{"id":1,"content":"b"}'), b"]}"),
    "one wide text": lambda: (
        b'{"model":"' + "\U0001f642".encode() * ((MAX_JSON_BYTES - 16) // 4) + b'"}'
    ),
}

COSTLY: dict[str, Inputs] = {
    "safetensors": SAFETENSORS,
    "gguf": GGUF,
    "tokenizer": TOKENIZER,
}
