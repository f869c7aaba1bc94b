"""Hostile tables of pieces and shards, configurations and hashes are refused by their class."""

import re
from typing import Any

import pytest

from tests.slm.conftest import (
    CONFIG,
    NORM,
    Patch,
    small_payloads,
    small_specs,
)
from tests.slm.refused import BIG, header_value, refused
from trlm_lab.base import canon
from trlm_lab.errors import (
    SlmConfigError,
    SlmHashError,
    SlmNumberError,
    SlmPieceError,
    SlmUnsupportedError,
)
from trlm_lab.slm.layout import HEADER
from trlm_lab.slm.read import open_slm
from trlm_lab.slm.verify import verify_all
from trlm_lab.slm.write import assemble


@pytest.mark.parametrize(("field", "value"), [("kind", 3), ("codec", 3)])
def test_slm_number_error_shard(patch: Patch, field: str, value: int) -> None:
    refused(patch("shard", **{field: value}), SlmNumberError)


@pytest.mark.parametrize(("field", "value"), [("kind", 1), ("kind", 2), ("codec", 1)])
def test_slm_unsupported_error_shard(patch: Patch, field: str, value: int) -> None:
    refused(patch("shard", **{field: value}), SlmUnsupportedError)


@pytest.mark.parametrize(
    ("table", "field", "value"),
    [
        ("piece", "piece_index", 1),
        ("piece", "shard_index", 1),
        ("piece", "file_off", 0),
        ("piece", "stored_len", 1),
        ("piece", "logical_len", 2**32 - 1),
        ("shard", "shard_index", 1),
        ("shard", "artifact_family", 1),
        ("shard", "shard_len", 1),
        ("shard", "shard_len", BIG),
    ],
)
def test_slm_piece_error_rows(patch: Patch, table: str, field: str, value: int) -> None:
    refused(patch(table, **{field: value}), SlmPieceError)


def test_slm_piece_error_counts(patch: Patch, small: bytes) -> None:
    shards = header_value(small, "shard_table_off")
    assert shards == header_value(small, "piece_table_off") + 64
    blank = small[: shards - 64] + bytes(56) + small[shards - 8 :]
    refused(patch("header", data=blank, piece_count=0), SlmPieceError, 88)
    refused(patch("header", shard_count=2, data=small), SlmPieceError, 104)


def configured(config: Any) -> bytes:
    """The small file with another configuration section of the same header."""
    plan_config = CONFIG | {"padding": ""}
    data = assemble(small_specs(), plan_config, small_payloads())
    raw = config if isinstance(config, bytes) else canon.encode(config)
    start, size = header_value(data, "config_off"), header_value(data, "config_len")
    assert len(raw) <= size + 16
    directory = header_value(data, "tensor_dir_off")
    data = data[:start] + raw + bytes(directory - start - len(raw)) + data[directory:]
    row = HEADER.unpack(memoryview(data), 0) | {"config_len": len(raw)}
    return HEADER.pack(row) + data[256:]


@pytest.mark.parametrize(
    "config",
    [
        b"",
        b"\xff",
        canon.encode(CONFIG) + b"\0",
        b"\xa1\x18\x01\x01",
        [1],
        {},
        CONFIG | {"vocab_size": 8},
        CONFIG | {"vocab_size": 7.0},
        CONFIG | {"vocab_size": True},
        CONFIG | {"hidden_size": -8},
        CONFIG | {"rope_theta": 10000},
        CONFIG | {"rope_theta": 10001.0},
        CONFIG | {"rms_norm_eps": 1e300},
        CONFIG | {"rms_norm_eps": "1e-5"},
        CONFIG | {"rope_order": "none"},
        CONFIG | {"rope_order": "spiral"},
        {k: v for k, v in CONFIG.items() if k != "head_dim"},
    ],
    ids=lambda c: str(c)[-40:],
)
def test_slm_config_error(config: Any) -> None:
    refused(configured(config), SlmConfigError)


def test_configuration_without_rope() -> None:
    config = CONFIG | {"rope_theta": 0.0, "rope_order": "none"}
    assert open_slm(assemble(small_specs(), config, small_payloads())).config == config


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ("tensor", "tensor norm"),
        ("piece", "piece 0"),
        ("shard", "shard 0"),
        ("merkle_root_sha256", "merkle_root_sha256"),
        ("self_sha256", "self_sha256"),
    ],
)
def test_slm_hash_error(patch: Patch, field: str, name: str) -> None:
    data = {
        "tensor": lambda: patch("tensor", NORM, sha256_trunc128=bytes(16)),
        "piece": lambda: patch("piece", sha256=bytes(32)),
        "shard": lambda: patch("shard", shard_sha256=bytes(32)),
    }.get(field, lambda: patch("header", **{field: bytes(32)}))()
    slm = open_slm(data, where="bad.slm")
    with pytest.raises(SlmHashError, match=f"bad.slm: byte [0-9]+: {re.escape(name)} stores 0+,"):
        verify_all(slm)
