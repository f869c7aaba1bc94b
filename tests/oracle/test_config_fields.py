"""The list of configuration fields is the source's own, and a change of the source shows in it."""

from __future__ import annotations

import dataclasses

import pytest
import transformers

from trlm_lab.errors import UnknownNameError
from trlm_lab.oracle import config_fields
from trlm_lab.oracle.families import FAMILIES
from trlm_lab.oracle.loading import quiet_framework


@pytest.mark.parametrize("model_type", FAMILIES)
def test_defaults_are_those_of_a_bare_class(model_type: str) -> None:
    """Every declared field that the class does not derive from others has its listed default."""
    rows = {row.name: row for row in config_fields(model_type)}
    kind = getattr(transformers, FAMILIES[model_type].config_class)
    assert set(rows) == {field.name for field in dataclasses.fields(kind)}
    assert kind.__name__ in {row.defined_in for row in rows.values()}
    bare = kind()
    for name in ("vocab_size", "initializer_range", "tie_word_embeddings", "bos_token_id"):
        assert rows[name].default == getattr(bare, name)


def test_names_that_a_class_maps_are_told() -> None:
    rows = {row.name: row for row in config_fields("gpt2")}
    assert rows["n_embd"].also == "hidden_size"
    assert rows["n_inner"].also is None


def test_a_field_that_a_new_version_adds_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclasses.dataclass
    class Newer(transformers.Olmo2Config):  # type: ignore[misc]
        rope_flavour: str = "vanilla"

    with quiet_framework() as source:
        monkeypatch.setattr(source, "Olmo2Config", Newer)
    added = next(row for row in config_fields("olmo2") if row.name == "rope_flavour")
    assert (added.default, added.defined_in, added.annotation) == ("vanilla", "Newer", "str")


def test_unknown_name_error_for_a_family() -> None:
    with pytest.raises(UnknownNameError, match="bert"):
        config_fields("bert")
