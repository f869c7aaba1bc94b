"""Places of a `.slm` file, ways to change them, and the error name that the runtime gives."""

import struct
from collections.abc import Callable

import numpy as np

from trlm_lab.backends.abi_host import last_error
from trlm_lab.backends.native import NativeHost
from trlm_lab.errors import RuntimeRefusedError

Edit = Callable[[bytearray], None]
# Header fields: offset, struct code.
TENSOR_DIR, TENSOR_COUNT, PIECE_TABLE, SHARD_TABLE = (64, "Q"), (72, "I"), (80, "Q"), (96, "Q")
STRINGS, STRINGS_LEN, CONFIG, BODY = (208, "Q"), (92, "I"), (216, "Q"), (224, "Q")
Field = tuple[int, str]


def refusal(host: NativeHost, data: bytes) -> str:
    """The name of the error that these bytes meet, or `loaded`."""
    buffer = np.frombuffer(data, dtype=np.uint8)
    model = host.call("trlm_model_load", int(buffer.ctypes.data), len(data))
    if model:
        host.call("trlm_model_free", model)
        return "loaded"
    error = last_error(host)
    assert isinstance(error, RuntimeRefusedError)
    assert error.where
    assert error.facts["detail"]
    return str(error.facts["error_name"])


def get(data: bytearray, field: Field, base: int = 0) -> int:
    return int(struct.unpack_from("<" + field[1], data, base + field[0])[0])


def put(data: bytearray, field: Field, value: int, base: int = 0) -> None:
    struct.pack_into("<" + field[1], data, base + field[0], value)
