"""Fields that the source's language has on each kind of plain value.

`a.b` finds such a field before an item of that name, so the source prints a method where a template
of ours must refuse. The names are those of Python 3.11, so that every version refuses the same.
"""

from __future__ import annotations

_TEXT = (
    "capitalize casefold center count encode endswith expandtabs find format format_map index "
    "isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace "
    "istitle isupper join ljust lower lstrip maketrans partition removeprefix removesuffix replace "
    "rfind rindex rjust rpartition rsplit rstrip split splitlines startswith strip swapcase title "
    "translate upper zfill"
)
_MAPPING = "clear copy fromkeys get items keys pop popitem setdefault update values"
_LIST = "append clear copy count extend index insert pop remove reverse sort"
_INTEGER = (
    "as_integer_ratio bit_count bit_length conjugate denominator from_bytes imag numerator real "
    "to_bytes"
)
_FLOAT = "as_integer_ratio conjugate fromhex hex imag is_integer real"

#: By kind, in the order in which a value is asked what it is.
OWN_FIELDS: dict[type, frozenset[str]] = {
    str: frozenset(_TEXT.split()),
    dict: frozenset(_MAPPING.split()),
    list: frozenset(_LIST.split()),
    tuple: frozenset(("count", "index")),
    int: frozenset(_INTEGER.split()),
    float: frozenset(_FLOAT.split()),
    range: frozenset(("count", "index", "start", "step", "stop")),
}


def has_own_field(held: object, name: str) -> bool:
    """True if `held` has a field of this name in the source's language, whatever its items."""
    kind = next((kind for kind in OWN_FIELDS if isinstance(held, kind)), None)
    return kind is not None and (name.startswith("__") or name in OWN_FIELDS[kind])
