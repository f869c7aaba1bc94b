"""Bytes that are no UTF-8, of every kind, in every place.

Source of facts: table 3-7 of the Unicode Standard.
"""

from __future__ import annotations

from collections.abc import Iterator

from trlm_lab.text.vectors.samples import Sample

_KINDS = {
    "surrogate": ("eda080", "edafbf", "edb080", "edbfbf", "eda0bdedb989"),
    "overlong": (
        "c080", "c0af", "c1bf", "e08080", "e080af", "e09fbf", "f0808080", "f08080af", "f08fbfbf",
    ),
    "truncated": ("c3", "e2", "e282", "f0", "f09f", "f09f99"),
    "above": ("f4908080", "f4bfbfbf", "f5808080", "f7bfbfbf", "f888808080", "fc8480808080", "fe",
              "ff"),
    "stray": ("80", "bf", "8080", "a9bf"),
}  # fmt: skip
#: What stands before and behind.
_PLACES = ((b"", b""), (b"a", b""), (b"", b"b"), ("\xe9".encode(), b"x"), ("\u65e5".encode(), b""))


def ill_formed_samples() -> Iterator[Sample]:
    """Twenty or more of each kind."""
    for kind, rows in _KINDS.items():
        for row in rows:
            for before, behind in _PLACES:
                yield Sample(f"ill_formed_{kind}", before + bytes.fromhex(row) + behind)
