"""Hostile files: every rule of the format is checked and named by the runtime."""

from collections.abc import Callable
from types import ModuleType

import pytest

from tests.backends.runtime_edits import Edit, refusal
from tests.backends.runtime_rules import RULES
from trlm_lab.backends.native import NativeHost


def test_the_sound_file_loads(host: NativeHost, sound_file: bytes) -> None:
    assert refusal(host, sound_file) == "loaded"


@pytest.mark.parametrize(("name", "what", "edit"), RULES, ids=[f"{r[0]}-{r[1]}" for r in RULES])
def test_each_broken_rule_is_named(
    host: NativeHost, sound_file: bytes, name: str, what: str, edit: Edit
) -> None:
    data = bytearray(sound_file)
    edit(data)
    assert refusal(host, bytes(data)) == name


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
        (
            "TENSOR_UNEXPECTED",
            lambda ws: [*ws[:-1], type(ws[0])("lm_head.weight", "lm_head", ws[0].values)],
        ),
    ],
)
def test_each_bad_tensor_set_is_named(
    host: NativeHost, tiny: ModuleType, name: str, change: Callable[[list[object]], list[object]]
) -> None:
    config = tiny.tiny_config()
    data = tiny.write_slm(config, change(tiny.tiny_weights(config)))
    assert refusal(host, data) == name
