"""The configuration of a hostile file becomes a record or one clear refusal."""

from dataclasses import fields
from typing import Any

import pytest

from tests.base.configuration import SOUND
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.errors import RecordError

WRONG: list[Any] = ["x", 1.5, -1, True, None, b"", [], {}, ["x"], [None], [1.5], [1], [-1]]


def test_round_trip() -> None:
    assert EffectiveConfig.from_map(SOUND).to_map() == SOUND


#: The Python types that each field may have in a map.
KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "bool": (bool,),
    "float": (float,),
    "float | None": (float, type(None)),
    "int | None": (int, type(None)),
}
TYPES = {f.name: KINDS.get(str(f.type), (list,)) for f in fields(EffectiveConfig)}


@pytest.mark.parametrize("key", list(SOUND))
def test_another_type_is_refused_by_name(key: str) -> None:
    refused = 0
    for value in WRONG:
        if type(value) in TYPES[key] and value not in (-1, ["x"], [None], [-1]):
            continue
        with pytest.raises(RecordError, match=f"config.{key}"):
            EffectiveConfig.from_map(SOUND | {key: value})
        refused += 1
    assert refused >= 9


@pytest.mark.parametrize("change", [{"extra": 1}, {"rms_norm_eps": 1e300}, {"rope_theta": 0.1}])
def test_other_contradictions_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(RecordError):
        EffectiveConfig.from_map(SOUND | change)


def test_a_missing_key_is_refused() -> None:
    with pytest.raises(RecordError, match="head_dim"):
        EffectiveConfig.from_map({k: v for k, v in SOUND.items() if k != "head_dim"})
