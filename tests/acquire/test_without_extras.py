"""An installation without the Hub's library: local sources do without, a Hub's say what lacks."""

import sys
from pathlib import Path

import pytest
from huggingface_hub.repocard import REGEX_YAML_BLOCK
from hypothesis import given
from hypothesis import strategies as st

from trlm_lab.acquire import acquire
from trlm_lab.acquire.licence_card import FRONT, card_licence
from trlm_lab.errors import MissingPackageError

PARTS = st.sampled_from(["---", "\n", "\r", "\r\n", " ", "\t", "a: b", "-", "\x0c", "\u2028", "é"])


@pytest.fixture
def no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in sys.modules if n.partition(".")[0] == "huggingface_hub"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)


@given(st.lists(PARTS, max_size=14).map("".join))
def test_front_matter_is_what_the_hub_takes_for_it(text: str) -> None:
    ours, theirs = FRONT.match(text), REGEX_YAML_BLOCK.search(text)
    assert (ours and (ours.span(), ours["yaml"])) == (theirs and (theirs.span(), theirs[2]))


def test_a_card_is_read_without_the_library(no_hub: None, tmp_path: Path) -> None:
    card = tmp_path / "README.md"
    card.write_text("---\nlicense: mit\n---\n# A model\n")
    assert card_licence(card) == "mit"


def test_a_hub_is_not(no_hub: None) -> None:
    with pytest.raises(MissingPackageError, match="huggingface_hub") as caught:
        acquire("hf:ada/tiny")
    assert caught.value.exit_status == 4
    assert "models" in caught.value.remedy
