"""`trlm-checksum64-v1`: 48 bits over the file's 32-bit words, under a tag of 16 bits.

The public notes name a checksum and not its constants; this one is ours. With words `w[i]` of the
file, the checksum field read as zero, and all arithmetic modulo 2^48:

    mix(x)  = x *= A; x ^= x >> 24; x *= B; x ^= x >> 24
    sum     = mix(w[0] + 1*G) + mix(w[1] + 2*G) + ...
    hash    = mix(sum + length*G)
    stored  = 0x3174 << 48 | hash

`mix` is a bijection, so a change within one word always changes the hash. It is no defence against
a forger. The tag tells a field of this profile from that of another one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.registry import Registry
from trlm_lab.slm1.layout import CHECKSUM_SPAN

G: Final = 0x9E3779B97F4B
A: Final = 0xBF58476D1CE5
B: Final = 0x94D049BB1331
TAG: Final = 0x3174
_MASK: Final = (1 << 48) - 1
#: Words that are mixed at a time.
_CHUNK: Final = 1 << 18


class Running(Protocol):
    """A checksum under way; the bytes arrive in order."""

    def update(self, data: bytes | memoryview) -> None:
        """The next bytes of the file."""
        ...

    def finish(self) -> int:
        """The value of the header field."""
        ...


class ChecksumProfile(Protocol):
    """A checksum of the whole file, found by name."""

    @property
    def name(self) -> str:
        """How documents call it."""
        ...

    def claims(self, stored: int) -> bool:
        """Whether a stored value says that it is of this profile."""
        ...

    def start(self) -> Running:
        """A checksum of nothing so far."""
        ...


def _mix(x: int) -> int:
    x = x * A & _MASK
    x ^= x >> 24
    x = x * B & _MASK
    return x ^ x >> 24


def _mixed(words: NDArray[np.uint32], first: int) -> int:
    """The sum of the mixed words, whose indices begin at `first`; multiplied modulo 2^64."""
    mask, shift = np.uint64(_MASK), np.uint64(24)
    x = np.arange(first + 1, first + 1 + len(words), dtype=np.uint64) * np.uint64(G)
    x += words
    x &= mask
    for factor in (A, B):
        x *= np.uint64(factor)
        x &= mask
        x ^= x >> shift
    return int(x.sum(dtype=np.uint64)) & _MASK


class Checksum64:
    """Takes the file in chunks of any size, in constant memory."""

    def __init__(self) -> None:
        self._sum, self._length, self._words = 0, 0, 0
        self._rest = b""

    def update(self, data: bytes | memoryview) -> None:
        """The next bytes; those of the checksum field count as zeros."""
        view = memoryview(data).cast("B")
        low, high = (at - self._length for at in CHECKSUM_SPAN)
        if low < len(view) and high > 0:
            blank = bytearray(view)
            low, high = max(low, 0), min(high, len(view))
            blank[low:high] = bytes(high - low)
            view = memoryview(blank)
        self._length += len(view)
        if self._rest:
            joined = self._rest + bytes(view[: 4 - len(self._rest)])
            view = view[4 - len(self._rest) :]
            if len(joined) < 4:
                self._rest = joined
                return
            self._add(memoryview(joined))
        whole = len(view) // 4 * 4
        self._add(view[:whole])
        self._rest = bytes(view[whole:])

    def _add(self, view: memoryview) -> None:
        words = np.frombuffer(view, "<u4")
        for low in range(0, len(words), _CHUNK):
            part = words[low : low + _CHUNK]
            self._sum += _mixed(part, self._words)
            self._words += len(part)

    def finish(self) -> int:
        """The value of the header field; a last word that is cut short ends in zeros."""
        if self._rest:
            self._add(memoryview(self._rest + bytes(4 - len(self._rest))))
            self._rest = b""
        return TAG << 48 | _mix((self._sum + self._length * G) & _MASK)


@dataclass(frozen=True)
class TrlmChecksum64V1:
    """The profile of this module."""

    name: str = "trlm-checksum64-v1"

    def claims(self, stored: int) -> bool:
        """Whether the tag stands in the upper 16 bits."""
        return stored >> 48 == TAG

    def start(self) -> Running:
        """A checksum of nothing so far."""
        return Checksum64()


CHECKSUMS: Registry[ChecksumProfile] = Registry("checksum profile")
#: What the writer stores, and what a reader recomputes unless it is told another profile.
OUR_CHECKSUM: Final[ChecksumProfile] = CHECKSUMS.register("trlm-checksum64-v1", TrlmChecksum64V1())
