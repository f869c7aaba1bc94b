"""A writer of SentencePiece's tables: a double array over bytes, and texts that end with NUL."""

import base64
import struct


class Writer:
    """Puts keys into the first places that are free; for small tables only."""

    def __init__(self, rules: dict[str, str]) -> None:
        # A free place holds what no byte leads to.
        self._units = [0] + [1 << 31] * 4095
        self._used = {0}
        # Two places with one base would share their keys.
        self._bases = {0}
        self._texts = bytearray()
        keys = {}
        for key, text in sorted(rules.items(), key=lambda rule: rule[0].encode()):
            keys[key.encode()] = len(self._texts)
            self._texts += text.encode() + b"\0"
        self._place(0, 0, keys)

    def _place(self, at: int, depth: int, keys: dict[bytes, int]) -> None:
        labels = sorted({key[depth] if len(key) > depth else 0 for key in keys})
        base = next(
            base for base in range(1, 3800)
            if base != at and base not in self._bases
            and all(base ^ label not in self._used for label in labels)
        )  # fmt: skip
        self._bases.add(base)
        self._used.update(base ^ label for label in labels)
        for label in labels:
            self._units[base ^ label] = 0
        self._units[at] |= (at ^ base) << 10
        for label in labels:
            below = {k: v for k, v in keys.items() if (k[depth] if len(k) > depth else 0) == label}
            if label:
                self._units[base ^ label] |= label
                self._place(base ^ label, depth + 1, below)
            else:
                self._units[at] |= 1 << 8
                (self._units[base],) = (value | 1 << 31 for value in below.values())

    def encoded(self) -> str:
        """Base64 as in tokenizer.json."""
        head = struct.pack(f"<I{len(self._units)}I", 4 * len(self._units), *self._units)
        return base64.b64encode(head + bytes(self._texts)).decode()
