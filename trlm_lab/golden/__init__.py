"""The container `tinyrustlm.golden.v1`: golden vectors that any program can read and check.

`docs/formats/golden.md` is the format; the Rust and the browser reader are written from it alone.
"""

from trlm_lab.golden.bounds import INPUTS, TOP_K, Bounds
from trlm_lab.golden.limits import SCHEMA
from trlm_lab.golden.read import (
    CASE_FILE,
    Golden,
    check_golden,
    golden_root,
    read_document,
    read_golden,
)
from trlm_lab.golden.record import GoldenCase, GoldenInput, GoldenObservation, GoldenTopK
from trlm_lab.golden.slices import Slice, parse_slice
from trlm_lab.golden.tolerance import exact_id
from trlm_lab.golden.write import DTYPES, array_bytes, encode_case, write_golden

__all__ = [
    "CASE_FILE",
    "DTYPES",
    "INPUTS",
    "SCHEMA",
    "TOP_K",
    "Bounds",
    "Golden",
    "GoldenCase",
    "GoldenInput",
    "GoldenObservation",
    "GoldenTopK",
    "Slice",
    "array_bytes",
    "check_golden",
    "encode_case",
    "exact_id",
    "golden_root",
    "parse_slice",
    "read_document",
    "read_golden",
    "write_golden",
]
