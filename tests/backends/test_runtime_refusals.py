"""Hostile files: every rule of the format is checked and named by the runtime."""

from collections.abc import Callable
from types import ModuleType

import pytest

from tests.backends.runtime_edits import Edit, refusal
from tests.backends.runtime_rules import RULES
from trlm_lab.backends.native import NativeHost
from trlm_lab.base import canon


def test_the_sound_file_loads(host: NativeHost, sound_file: bytes) -> None:
    assert refusal(host, sound_file) == "loaded"


@pytest.mark.parametrize(("name", "what", "edit"), RULES, ids=[f"{r[0]}-{r[1]}" for r in RULES])
def test_each_broken_rule_is_named(
    host: NativeHost, sound_file: bytes, name: str, what: str, edit: Edit
) -> None:
    data = bytearray(sound_file)
    edit(data)
    assert refusal(host, bytes(data)) == name


def _with(**changes: object) -> Callable[[dict[str, object]], dict[str, object]]:
    return lambda row: {**row, **changes}


def _without(name: str) -> Callable[[dict[str, object]], dict[str, object]]:
    return lambda row: {k: v for k, v in row.items() if k != name}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("CONFIG_UNSUPPORTED", _with(model_type="qwen2")),
        ("CONFIG_UNSUPPORTED", _with(hidden_act="gelu")),
        ("CONFIG_UNSUPPORTED", _with(attention_bias=True)),
        ("CONFIG_UNSUPPORTED", _with(mlp_bias=True)),
        ("CONFIG_UNSUPPORTED", _with(rope_order="none")),
        ("CONFIG_FIELD", _without("mlp_bias")),
        ("CONFIG_FIELD", _with(sliding_window=4)),
        ("CONFIG_FIELD", lambda row: {**_without("mlp_bias")(row), "mlp_gias": False}),
        ("CONFIG_FIELD", _with(vocab_size=0)),
        ("CONFIG_FIELD", _with(vocab_size="67")),
        ("CONFIG_FIELD", _with(hidden_size=1 << 31)),
        ("CONFIG_FIELD", _with(rope_theta=10000)),
        ("CONFIG_FIELD", _with(rms_norm_eps=1e-5)),
        ("CONFIG_FIELD", _with(rms_norm_eps=0.0)),
        ("CONFIG_FIELD", _with(attention_scale=-0.5)),
        ("CONFIG_FIELD", _with(rope_inv_freq=[1.0] * 4)),
        ("CONFIG_FIELD", _with(rope_inv_freq=[1.0] * 4 + [1])),
        ("CONFIG_FIELD", _with(eos_token_id=2)),
        ("CONFIG_FIELD", _with(eos_token_id=[-1])),
        ("CONFIG_FIELD", _with(bos_token_id=True)),
        ("CONFIG_FIELD", _with(pad_token_id=b"2")),
        ("CONFIG_FIELD", _with(tie_word_embeddings=1)),
        ("CONFIG_FIELD", _with(num_key_value_heads=4)),
        ("CONFIG_FIELD", _with(head_dim=9, rope_inv_freq=[1.0] * 4)),
        ("CONFIG_DISAGREES", _with(num_attention_heads=8)),
        ("CONFIG_DISAGREES", _with(rope_theta=20000.0)),
    ],
)
def test_each_bad_configuration_is_named(
    host: NativeHost,
    tiny: ModuleType,
    name: str,
    change: Callable[[dict[str, object]], dict[str, object]],
) -> None:
    config = tiny.tiny_config()
    encoded = canon.encode(change(config.to_map()))
    data = tiny.write_slm(config, tiny.tiny_weights(config), config_bytes=encoded)
    assert refusal(host, data) == name


def test_a_configuration_that_is_not_canonical_is_refused(
    host: NativeHost, tiny: ModuleType
) -> None:
    config = tiny.tiny_config()
    encoded = canon.encode(config.to_map())
    long_integer = encoded.replace(b"\x68head_dim\x0a", b"\x68head_dim\x18\x0a")
    assert long_integer != encoded
    for bad in (long_integer, b"\x80", b"", encoded[:-1]):
        data = tiny.write_slm(config, tiny.tiny_weights(config), config_bytes=bad)
        assert refusal(host, data) == "CBOR"


def _renamed(weights: list[object], old: str, new: str) -> list[object]:
    from dataclasses import replace

    return [replace(w, name=w.name.replace(old, new)) for w in weights]  # type: ignore[attr-defined,type-var]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("TENSOR_MISSING", lambda ws: ws[:3] + ws[4:]),
        ("TENSOR_UNEXPECTED", lambda ws: _renamed(ws, "layers.1.mlp.up", "layers.01.mlp.up")),
        ("TENSOR_UNEXPECTED", lambda ws: _renamed(ws, "layers.1.mlp.up", "layers.2.mlp.up")),
        ("TENSOR_UNEXPECTED", lambda ws: _renamed(ws, "model.norm.", "model.morn.")),
        (
            "TENSOR_SHAPE",
            lambda ws: [*ws[:3], type(ws[3])(ws[3].name, "k_proj", ws[2].values), *ws[4:]],
        ),
        ("ALIAS", lambda ws: [*ws[:-1], type(ws[0])("lm_head.weight", "lm_head", ws[0].values)]),
    ],
)
def test_each_bad_tensor_set_is_named(
    host: NativeHost, tiny: ModuleType, name: str, change: Callable[[list[object]], list[object]]
) -> None:
    config = tiny.tiny_config()
    data = tiny.write_slm(config, change(tiny.tiny_weights(config)))
    assert refusal(host, data) == name
