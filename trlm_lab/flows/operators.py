"""`trlm op NAME`: one operator on arrays from a file, by any engine that serves it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.backends.profiles import operator_profile
from trlm_lab.base.canon import array_sha256
from trlm_lab.base.output_file import require_output
from trlm_lab.errors import UnknownNameError
from trlm_lab.flows.joined_operators import JOINED
from trlm_lab.flows.operand_file import read_operands, write_operands
from trlm_lab.flows.operator_engines import EXACT, operator_kernels
from trlm_lab.ops.arithmetic import Arithmetic
from trlm_lab.ops.by_name import OPERATORS, run_operator
from trlm_lab.ops.kernels import Kernels
from trlm_lab.ops.operands import Operands

Answers = dict[str, NDArray[Any]]


def run_operator_file(
    name: str, infile: Path, outfile: Path, profile: str, engine: str
) -> dict[str, Any]:
    """Read operands from `infile` (NumPy .npz), write `y` and what else is answered to `outfile`.

    Raises:
        UnknownNameError: operator, profile, option or engine do not exist.
        OperatorNotServedError: the engine lacks the operator or does not compute in the profile.
        NpzUnreadableError: the file holds no plain arrays.
        OutputIsInputError, OutputNotPlainError: both files are one, or `outfile` is no plain file.
        Refused: operands that break the operator's rules.
    """
    if name not in OPERATORS and name not in JOINED:
        known = ", ".join((*OPERATORS, *JOINED))
        raise UnknownNameError(kind="operator", name=name, known=known)
    engine, profile = _engine_and_profile(engine, profile)
    chosen = operator_profile(profile)
    require_output(outfile, infile)
    arithmetic = chosen.arithmetic()
    kernels = operator_kernels(engine, arithmetic)
    kernels[name]  # said before the file is read
    answers = apply_operator(name, read_operands(infile), arithmetic, kernels)
    write_operands(outfile, answers)
    shown = {k: f"{v.dtype} {list(v.shape)} {_digest(v)}" for k, v in answers.items()}
    exact = engine in EXACT and chosen.bit_reproducible
    return {"operator": name, "engine": engine, "profile": profile, "exact": exact, **shown}


def apply_operator(
    name: str, arrays: dict[str, Any], arithmetic: Arithmetic, kernels: Kernels
) -> Answers:
    """One operator of any room on arrays.

    Raises:
        OperatorNotServedError: the engine lacks it.
        Refused: operands that break the operator's rules.
    """
    if name in JOINED:
        wanted, serve = JOINED[name]
        return serve(Operands(name, arrays, wanted, arithmetic, kernels))
    return run_operator(name, arrays, {}, arithmetic, kernels)


def _engine_and_profile(engine: str, profile: str) -> tuple[str, str]:
    """`reference:PROFILE` names both."""
    kind, _, named = engine.partition(":")
    return (kind, named) if kind == "reference" and named else (engine, profile)


def _digest(values: NDArray[Any]) -> str:
    return (
        " ".join(values.reshape(-1)[:8].tolist())
        if values.dtype.kind == "U"
        else (array_sha256(np.ascontiguousarray(values)))
    )
