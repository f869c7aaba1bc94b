"""Hostile configuration sections: the runtime and the Python records refuse the same ones."""

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from types import ModuleType
from typing import Any

import pytest

from tests.backends.runtime_edits import refusal
from trlm_lab.backends.abi_host import last_error
from trlm_lab.backends.native import NativeHost
from trlm_lab.base import canon
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.errors import Refused
from trlm_lab.slm.read import open_slm

Row = dict[str, Any]
NAMES = tuple(field.name for field in fields(EffectiveConfig))
#: What the runtime says of a section; anything else is about the tensors behind it.
CODES = {"CBOR", "CONFIG_FIELD", "CONFIG_UNSUPPORTED", "CONFIG_DISAGREES"}
#: One value of each kind, and the edges of every range.
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 11, 4096, 4097, 2**17 + 1, 2**24 + 1, 2**31 - 1, 2**31,
    2**63, 0.0, -0.0, -1.0, 0.5, 1.0, 2.0, 1e-5, 2.0**-127, 2.0**-150, 1e12, 2.0**41, 1e300, "",
    "none", "silu", "gelu", "half_split", "joined", "sandwich", "full_attention", b"x", [], [0],
    [-1], [2**31], [1.0], [1e-5], ["full_attention"], ["sliding_attention"] * 2, ["none"] * 2, {},
)  # fmt: skip


def file_of(tiny: ModuleType, row: Row, family: str = "llama") -> bytes:
    """A sound file but for its configuration section."""
    config, weights = model_of(tiny, family)
    return bytes(tiny.write_slm(config, weights, config_bytes=canon.encode(row)))


@cache
def model_of(tiny: ModuleType, family: str) -> tuple[EffectiveConfig, Any]:
    """A family's configuration and weights, made once."""
    config = tiny.tiny_config(family)
    return config, tiny.tiny_weights(config)


def python_takes(data: bytes) -> bool:
    """Whether the Python reader and record take the section; other refusals do not count."""
    try:
        EffectiveConfig.from_map(open_slm(memoryview(data), where="file").config)
    except Refused:
        return False
    return True


@pytest.mark.parametrize("family", ["gemma3", "gpt2"])
@pytest.mark.parametrize("name", NAMES)
def test_both_readers_refuse_the_same_values(
    host: NativeHost, tiny: ModuleType, name: str, family: str
) -> None:
    sound = tiny.tiny_config(family).to_map()
    disagreeing = {}
    for value in VALUES:
        data = file_of(tiny, {**sound, name: value}, family)
        taken = refusal(host, data) not in CODES
        if taken != python_takes(data):
            disagreeing[repr(value)] = "runtime takes it" if taken else "python takes it"
    assert disagreeing == {}


@pytest.mark.parametrize("name", NAMES)
def test_every_field_must_be_there(host: NativeHost, tiny: ModuleType, name: str) -> None:
    row = tiny.tiny_config().to_map()
    value = row.pop(name)
    for bad in (row, {**row, name + "x": value}, {**row, name: value, name + "x": value}):
        data = file_of(tiny, bad)
        assert refusal(host, data) == "CONFIG_FIELD"
        assert not python_takes(data)


def changed(family: str, **changes: Any) -> tuple[str, Callable[[Row], Row]]:
    return family, lambda row: {**row, **changes}


CONTRADICTIONS: tuple[tuple[str, str, tuple[str, Callable[[Row], Row]]], ...] = (
    ("rms_norm_eps", "CONFIG_FIELD", changed("llama", layer_norm_epsilon=1.0)),
    ("rms_norm_eps", "CONFIG_FIELD", changed("llama", rms_norm_eps=None)),
    ("norm_unit_offset", "CONFIG_FIELD", changed("gpt2", norm_unit_offset=True)),
    ("layer_norm_epsilon", "CONFIG_FIELD", changed("gpt2", norm_placement="post")),
    ("layer_norm_epsilon", "CONFIG_FIELD", changed("gpt2", qk_norm="head")),
    ("num_key_value_heads", "CONFIG_FIELD", changed("llama", num_key_value_heads=4)),
    ("head_dim", "CONFIG_FIELD", changed("llama", head_dim=9, rope_inv_freq=[1.0] * 4)),
    ("rope_theta", "CONFIG_FIELD", changed("llama", rope_order="none")),
    ("rope_theta", "CONFIG_FIELD", changed("gpt2", rope_order="half_split")),
    ("rope_inv_freq", "CONFIG_FIELD", changed("gpt2", rope_inv_freq=[1.0])),
    ("rope_attention_factor", "CONFIG_FIELD", changed("gpt2", rope_attention_factor=2.0)),
    ("rope_inv_freq", "CONFIG_FIELD", changed("llama", rope_inv_freq=[1.0] * 6)),
    ("rope_local_inv_freq", "CONFIG_FIELD", changed("llama", rope_local_inv_freq=[1.0] * 5)),
    ("rope_local_inv_freq", "CONFIG_FIELD", changed("gemma3", rope_local_inv_freq=[1.0] * 5)),
    ("rope_local_inv_freq", "CONFIG_FIELD", changed("gemma3", rope_local_base_freq=None)),
    (
        "rope_local_inv_freq",
        "CONFIG_FIELD",
        changed("gemma3", layer_types=["full_attention"] * 3, sliding_window=None),
    ),
    ("sliding_window", "CONFIG_FIELD", changed("mistral", sliding_window=None)),
    ("sliding_window", "CONFIG_FIELD", changed("llama", sliding_window=4)),
    ("layer_types", "CONFIG_FIELD", changed("llama", layer_types=["full_attention"] * 3)),
    ("layer_types", "CONFIG_UNSUPPORTED", changed("llama", layer_types=["chunked_attention"] * 2)),
    ("hidden_act", "CONFIG_UNSUPPORTED", changed("llama", hidden_act="relu")),
    ("qk_norm", "CONFIG_UNSUPPORTED", changed("llama", qk_norm="all")),
    ("norm_placement", "CONFIG_UNSUPPORTED", changed("llama", norm_placement="none")),
)


@pytest.mark.parametrize(
    ("name", "code", "change"), CONTRADICTIONS, ids=[f"{c[2][0]}-{c[0]}" for c in CONTRADICTIONS]
)
def test_each_contradiction_is_named_by_both(
    host: NativeHost,
    tiny: ModuleType,
    name: str,
    code: str,
    change: tuple[str, Callable[[Row], Row]],
) -> None:
    family, edit = change
    data = file_of(tiny, edit(tiny.tiny_config(family).to_map()), family)
    assert refusal(host, data) == code
    assert last_error(host).where == f"configuration.{name}"
    with pytest.raises(Refused) as refused:
        EffectiveConfig.from_map(open_slm(memoryview(data), where="file").config)
    assert name in str(refused.value)


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("llama", {"num_attention_heads": 8}),
        ("llama", {"rope_theta": 20000.0}),
        ("llama", {"rms_norm_eps": 0.5}),
        ("gpt2", {"layer_norm_epsilon": 0.5}),
        ("gpt2", {"max_position_embeddings": 63}),
    ],
)
def test_a_header_that_says_something_else_is_refused(
    host: NativeHost, tiny: ModuleType, family: str, changes: Row
) -> None:
    data = file_of(tiny, {**tiny.tiny_config(family).to_map(), **changes}, family)
    assert refusal(host, data) == "CONFIG_DISAGREES"
    assert not python_takes(data)


def test_a_section_that_is_not_canonical_is_refused(host: NativeHost, tiny: ModuleType) -> None:
    config = tiny.tiny_config()
    encoded = canon.encode(config.to_map())
    long_integer = encoded.replace(b"\x68head_dim\x0a", b"\x68head_dim\x18\x0a")
    assert long_integer != encoded
    for bad in (long_integer, b"\x80", b"", encoded[:-1]):
        data = tiny.write_slm(config, tiny.tiny_weights(config), config_bytes=bad)
        assert refusal(host, data) == "CBOR"
        assert not python_takes(data)


def test_a_list_that_the_section_cannot_hold_is_refused(host: NativeHost, tiny: ModuleType) -> None:
    config = tiny.tiny_config()
    encoded = canon.encode(config.to_map())
    for key in (b"\x6blayer_types\x82", b"\x6drope_inv_freq\x85"):
        huge = key[:-1] + b"\x9a\xff\xff\xff\xff"
        assert key in encoded
        data = tiny.write_slm(
            config, tiny.tiny_weights(config), config_bytes=encoded.replace(key, huge)
        )
        assert refusal(host, data) == "CONFIG_FIELD"
        assert not python_takes(data)
