"""Read and write the safetensors files of a process adapter, trusting nothing in them.

Only F32 and I64 are admitted, since traces hold nothing else.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.records import Observation
from trlm_lab.base.safetensors_header import TensorInfo, read_header
from trlm_lab.errors import ProcessOutputError, TrlmError

DTYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "I64": np.dtype("<i8")}
CODES = {"float32": "F32", "int64": "I64"}


def read_tensors(path: Path) -> dict[str, TensorInfo]:
    """The directory of a file, checked.

    Raises:
        ProcessOutputError: the file is malformed; `where` names the file and the tensor.
    """
    try:
        tensors = read_header(path)
    except TrlmError as error:
        raise ProcessOutputError(where=error.where, detail=error.detail) from error
    for tensor in tensors:
        if tensor.dtype not in DTYPES:
            where = f"{path.name}:{tensor.name}"
            detail = f"dtype {tensor.dtype} is neither F32 nor I64"
            raise ProcessOutputError(where=where, detail=detail)
    return {tensor.name: tensor for tensor in tensors}


def read_tensor(path: Path, tensor: TensorInfo) -> NDArray[Any]:
    """One tensor, owned by the caller, in native byte order.

    Raises:
        ProcessOutputError: the file has become shorter since its directory was read.
    """
    little = DTYPES[tensor.dtype]
    with path.open("rb") as stream:
        stream.seek(tensor.begin)
        data = bytearray(stream.read(tensor.end - tensor.begin))
    if len(data) != tensor.end - tensor.begin:
        raise ProcessOutputError(where=f"{path.name}:{tensor.name}", detail="the data is short")
    values = np.frombuffer(data, dtype=little).reshape(tensor.shape)
    return values.astype(little.newbyteorder("="), copy=False)


def write_tensors(path: Path, observations: Iterable[Observation]) -> None:
    """Write observations to one file, through a temporary name; holds them all in memory."""
    held = list(observations)
    header: dict[str, Any] = {}
    position = 0
    for observation in held:
        values = observation.values
        span = [position, position + values.nbytes]
        row = {"dtype": CODES[values.dtype.name], "shape": list(values.shape)}
        header[observation.name] = {**row, "data_offsets": span}
        position = span[1]
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    temporary = path.with_name(f".tmp-{path.name}")
    with temporary.open("wb") as stream:
        stream.write(struct.pack("<Q", len(text)) + text)
        for observation in held:
            dtype = observation.values.dtype.newbyteorder("<")
            stream.write(np.ascontiguousarray(observation.values, dtype=dtype).data)
    temporary.replace(path)
