"""What is judged without the payloads is what the reader says of the whole file."""

import random

import pytest

from tests.backends.coded_model import coded_model
from trlm_lab.errors import SlmError
from trlm_lab.slm.numbers import DType, ScaleEncoding
from trlm_lab.slm.read import open_slm
from trlm_lab.slmset.skeleton import Skeleton, payload_spans

BASES = (
    coded_model(DType.q4_g64, ScaleEncoding.fp16, DType.f16),
    coded_model(DType.q6_g64, ScaleEncoding.bf16, DType.q8_r128),
)


def reader(data: bytes) -> type[SlmError] | None:
    try:
        open_slm(data)
    except SlmError as error:
        return type(error)
    return None


def skeleton(data: bytes, body: int, step: int) -> type[SlmError] | None:
    with Skeleton(data[:body], len(data), "set") as held:
        for low in range(body, len(data), step):
            held.add(data[low : low + step])
        found = held.fault()
    return None if found is None else type(found)


@pytest.mark.parametrize("base", range(2))
def test_any_byte(base: int) -> None:
    data, pick, refused = BASES[base], random.Random(base), 0
    body = open_slm(data).header.body_off
    for turn in range(200):
        low, high = ((256, body - 4), (body, len(data)))[turn % 2]
        bad = bytearray(data)
        bad[pick.randrange(low, high)] ^= 1 << pick.randrange(8)
        wanted = reader(bytes(bad))
        assert skeleton(bytes(bad), body, pick.choice((64, 1000, 1 << 20))) == wanted
        refused += wanted is not None
    assert refused > 30


def test_only_dense_payloads_are_left_out() -> None:
    data = BASES[0]
    slm = open_slm(data)
    spans = payload_spans(data[: slm.header.body_off], len(data))
    dense = [t for t in slm.tensors if t.residual_of is None and t.alias_of is None]
    assert sum(high - low for low, high in spans) == sum(len(t.data) + len(t.scales) for t in dense)
    residual = next(t for t in slm.tensors if t.residual_of)
    at = residual.descriptor.data_off
    assert not any(low <= at < high for low, high in spans)
