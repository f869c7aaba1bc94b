"""Stage: judge traces. Who judges does not set the bar: nothing here knows how limits are made."""

from trlm_lab.compare.compare import compare_case, compare_traces
from trlm_lab.compare.element import Element, first_element
from trlm_lab.compare.exact import ExactRow, ExactTable, Parting, exact_equality

#: Who judges, and by which version of its rules: another version gives other comparisons.
COMPARATOR = "trlm_lab.compare 1"

__all__ = [
    "COMPARATOR",
    "Element",
    "ExactRow",
    "ExactTable",
    "Parting",
    "compare_case",
    "compare_traces",
    "exact_equality",
    "first_element",
]
