"""The allow-list of the template subset: what may be called, filtered and tested, by name."""

from __future__ import annotations

FUNCTIONS = frozenset({"raise_exception", "strftime_now", "namespace", "range", "dict"})

FILTERS = frozenset(
    [
        "abs",
        "capitalize",
        "count",
        "d",
        "default",
        "dictsort",
        "first",
        "float",
        "indent",
        "int",
        "items",
        "join",
        "last",
        "length",
        "list",
        "lower",
        "map",
        "max",
        "min",
        "reject",
        "rejectattr",
        "replace",
        "reverse",
        "round",
        "safe",
        "select",
        "selectattr",
        "sort",
        "string",
        "sum",
        "title",
        "tojson",
        "trim",
        "unique",
        "upper",
        "wordcount",
    ]
)

TESTS = frozenset(
    [
        "boolean",
        "defined",
        "divisibleby",
        "eq",
        "equalto",
        "even",
        "false",
        "float",
        "ge",
        "greaterthan",
        "gt",
        "in",
        "integer",
        "iterable",
        "le",
        "lessthan",
        "lower",
        "lt",
        "mapping",
        "ne",
        "none",
        "number",
        "odd",
        "sequence",
        "string",
        "true",
        "undefined",
        "upper",
        "==",
        "!=",
        ">",
        ">=",
        "<",
        "<=",
    ]
)

TEXT_METHODS = frozenset(
    [
        "capitalize",
        "count",
        "endswith",
        "find",
        "format",
        "isalnum",
        "isalpha",
        "isdigit",
        "islower",
        "isnumeric",
        "isspace",
        "isupper",
        "join",
        "lower",
        "lstrip",
        "partition",
        "removeprefix",
        "removesuffix",
        "replace",
        "rfind",
        "rpartition",
        "rsplit",
        "rstrip",
        "split",
        "splitlines",
        "startswith",
        "strip",
        "title",
        "upper",
    ]
)
MAPPING_METHODS = frozenset({"copy", "get", "items", "keys", "values"})
LIST_METHODS = frozenset({"count", "index"})
LOOP_METHODS = frozenset({"changed", "cycle"})
#: The source's sandbox refuses these when they are reached; so does the renderer, and not before.
MUTATING = frozenset(
    [
        "append",
        "clear",
        "extend",
        "insert",
        "pop",
        "popitem",
        "remove",
        "reverse",
        "setdefault",
        "sort",
        "update",
    ]
)
METHODS = MUTATING | TEXT_METHODS | MAPPING_METHODS | LIST_METHODS | LOOP_METHODS

#: Filters that look a test or another filter up by the text of an argument.
BY_TEST = {"select": 0, "reject": 0, "selectattr": 1, "rejectattr": 1}
