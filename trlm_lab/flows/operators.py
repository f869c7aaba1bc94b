"""`trlm op NAME`: one reference operator on arrays from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.backends.profiles import evaluation_profile
from trlm_lab.base.canon import array_sha256
from trlm_lab.errors import NpzUnreadableError, OperatorInputError, UnknownNameError
from trlm_lab.ops.by_name import run_operator
from trlm_lab.quant import FORMATS


def run_operator_file(
    name: str, infile: Path, outfile: Path, profile: str, engine: str
) -> dict[str, Any]:
    """Read operands from `infile` (NumPy .npz), write `y` to `outfile`.

    Raises:
        UnknownNameError: operator, profile or engine do not exist.
        NpzUnreadableError: the file holds no plain arrays.
    """
    if engine != "reference":
        raise UnknownNameError(where="--engine", kind="engine", name=engine, known="reference")
    arrays = _read(infile)
    if name in ("quantize", "dequantize"):
        answers = _block_format(name, arrays)
    else:
        answers = run_operator(name, arrays, {}, evaluation_profile(profile).arithmetic())
    np.savez(outfile, allow_pickle=False, **answers)
    shown = {k: f"{v.dtype} {list(v.shape)} {array_sha256(v)}" for k, v in answers.items()}
    return {"operator": name, "profile": profile, **shown}


def _read(path: Path) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {key: file[key] for key in file.files}
    except (OSError, ValueError, KeyError, EOFError, AttributeError) as error:
        raise NpzUnreadableError(where=str(path), detail=str(error)) from error


def _block_format(name: str, arrays: dict[str, Any]) -> dict[str, Any]:
    block = FORMATS[str(arrays.get("format", "q8_r128"))]
    if name == "quantize":
        x = _matrix(name, arrays, "x", np.float32)
        plane, scale_plane = block.quantize(x)
        rows = x.shape[0]
        return {
            "y": np.frombuffer(plane, np.int8).reshape(rows, -1)[:, : x.shape[1]],
            "scale": np.frombuffer(scale_plane, np.float16).reshape(rows, -1),
        }
    codes = _matrix(name, arrays, "codes", np.int8)
    scales = _matrix(name, arrays, "scale", np.float16)
    rows, cols = codes.shape
    padded = np.zeros((rows, -(-cols // 64) * 64), np.int8)
    padded[:, :cols] = codes
    return {"y": block.dequantize(padded.data.cast("B"), scales.data.cast("B"), rows, cols)}


def _matrix(operator: str, arrays: dict[str, Any], name: str, dtype: Any) -> NDArray[Any]:
    value = arrays.get(name)
    if value is None or np.ndim(value) != 2 or np.asarray(value).size == 0:
        wanted = "x, format" if operator == "quantize" else "codes, scale, format"
        detail = f"{name} must be a matrix with entries"
        raise OperatorInputError(where=operator, detail=detail, wanted=wanted)
    return np.ascontiguousarray(value, dtype=dtype)
