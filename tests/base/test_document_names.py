"""What a licence text, a notice and a model card are called."""

import pytest

from trlm_lab.base.document_names import is_card, is_licence, is_notice


@pytest.mark.parametrize(
    "name",
    [
        "LICENSE", "licence.md", "LICENSE.txt", "LICENSE-MODEL", "LICENSE_code.md", "COPYING",
        "LICENSE-2.0.txt", "COPYING.LESSER", "USE_POLICY.md", "NOTICE", "NOTICE.txt",
    ],
)  # fmt: skip
def test_licences(name: str) -> None:
    assert is_licence(name)
    assert is_notice(name) == name.startswith("NOTICE")
    assert not is_card(name)


@pytest.mark.parametrize(
    "name",
    [
        "LICENSED.md",
        "LICENSE.json",
        "LICENSE-x.py",
        "sub/LICENSE",
        "NOTICED",
        "README",
        "LICENSE\n",
    ],
)
def test_what_is_called_otherwise(name: str) -> None:
    assert not is_licence(name)
    assert not is_notice(name)


def test_cards() -> None:
    assert all(map(is_card, ("README", "README.md", "readme.txt")))
    assert not any(map(is_card, ("README.png", "README-x", "docs/README.md")))
