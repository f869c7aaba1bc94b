"""Floor 2: case suites as data, case files of users, and a seeded generator."""

from trlm_lab.cases.fit import require_fit
from trlm_lab.cases.generator import random_cases
from trlm_lab.cases.suites import is_case_file, load_suite, parse_cases, suite_names, suite_row
from trlm_lab.cases.text_check import check_text_cases

__all__ = [
    "check_text_cases",
    "is_case_file",
    "load_suite",
    "parse_cases",
    "random_cases",
    "require_fit",
    "suite_names",
    "suite_row",
]
