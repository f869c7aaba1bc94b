"""Numbers of a configuration out of range: one finding with pointer, range and fix, at once."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trlm_lab.base.config_bounds import CONFIG_BOUNDS, shown
from trlm_lab.describe import check_model_directory, effective_config
from trlm_lab.describe.families import FAMILIES
from trlm_lab.errors import FieldValueError, JsonError, RecordError

Tree = Callable[..., Path]

#: A family for each number that a llama has not.
OTHERS = {
    "sliding_window": "mistral",
    "layer_norm_epsilon": "gpt2",
    "rope_local_base_freq": "gemma3_text",
}
SIZES = [name for name, bound in CONFIG_BOUNDS.items() if bound.whole and name not in OTHERS]
FLOATS = [name for name, bound in CONFIG_BOUNDS.items() if not (bound.whole or name in OTHERS)]
WRONG_SIZES: list[Any] = [0, -1, True, 2.0, "8", [8], 2**31, 10**9 * 10**9, 10**400]
WRONG_FLOATS: list[Any] = [0, 0.0, -1e-5, True, "1", 1e300, 1e-300, 10**400]


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("value", WRONG_SIZES, ids=lambda v: shown(v)[:20])
def test_a_size_out_of_range_is_one_finding(tree: Tree, name: str, value: Any) -> None:
    require_finding(tree(config={name: value}), name)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("value", WRONG_FLOATS, ids=lambda v: shown(v)[:20])
def test_a_float_out_of_range_is_one_finding(tree: Tree, name: str, value: Any) -> None:
    require_finding(tree(config={name: value}), name)


def require_finding(root: Path, name: str) -> None:
    found = [f for f in check_model_directory(root) if f["code"] == "FIELD_VALUE"]
    assert [f["where"] for f in found] == [f"config.json#/{name}"]
    assert " from " in found[0]["detail"]
    assert len(found[0]["detail"]) < 200
    assert found[0]["fix"]


@pytest.mark.parametrize("name", OTHERS)
def test_a_number_of_another_family_has_its_range_there(name: str) -> None:
    values = WRONG_SIZES if CONFIG_BOUNDS[name].whole else WRONG_FLOATS
    rule = FAMILIES[OTHERS[name]].schema.rules[name]
    assert all(" from " in rule.check(value) for value in values)


def test_a_billion_layers_cost_nothing(tree: Tree) -> None:
    codes = [f["code"] for f in check_model_directory(tree(config={"num_hidden_layers": 10**9}))]
    assert "FIELD_VALUE" in codes


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity", "1e400"])
def test_what_json_has_no_number_for_is_no_json(
    tree: Tree, defaults: Callable[..., Any], literal: str
) -> None:
    root = tree(config={"rms_norm_eps": 77.5})
    text = (root / "config.json").read_text().replace("77.5", literal)
    (root / "config.json").write_text(text)
    with pytest.raises(JsonError, match=r"config\.json"):
        effective_config(root, defaults())
    found = check_model_directory(root)
    assert [(f["code"], bool(f["fix"])) for f in found] == [("JSON", True)]


RELATIONS = {
    "num_key_value_heads": {"num_attention_heads": 3, "num_key_value_heads": 2},
    "head_dim": {"head_dim": 3},
    "hidden_size": {"head_dim": None, "num_attention_heads": 3, "num_key_value_heads": 3},
}


@pytest.mark.parametrize("name", RELATIONS)
def test_sizes_that_do_not_fit_each_other_are_refused(
    tree: Tree, defaults: Callable[..., Any], name: str
) -> None:
    with pytest.raises(FieldValueError, match=f"config.json#/{name}"):
        effective_config(tree(config=RELATIONS[name]), defaults())


def test_the_record_of_an_artifact_has_the_same_bounds(
    tree: Tree, defaults: Callable[..., Any]
) -> None:
    good = effective_config(tree(), defaults())
    for name, value in (("num_hidden_layers", 10**9), ("rope_theta", 2.0**126)):
        with pytest.raises(RecordError, match=f"config.{name}.* from 1 to .*Fix: correct"):
            type(good).from_map({**good.to_map(), name: value})


def test_a_remark_of_any_size_is_no_number(tree: Tree) -> None:
    root = tree(config={"_name_or_path": "x" * 1000, "initializer_range": 10**50})
    assert json.loads((root / "config.json").read_bytes())["initializer_range"] == 10**50
    assert [f["code"] for f in check_model_directory(root) if f["level"] == "error"] == []
