"""Files of a model that people read, by their names: licence texts, notices and model cards."""

from __future__ import annotations

import re
from collections.abc import Mapping

#: A source may have several: LICENSE-CODE and LICENSE-MODEL, a notice, a policy of use.
_LICENCE = re.compile(
    r"(LICEN[CS]E|NOTICE|COPYING|USE_POLICY)([-_][a-z0-9_-]{1,64}(\.[0-9]{1,4}){0,3})?"
    r"(\.(md|txt|rst|pdf|html|lesser))?\Z",
    re.I,
)
_NOTICE = re.compile(r"NOTICE", re.I)
_CARD = re.compile(r"README(\.(md|txt))?\Z", re.I)


def is_licence(name: str) -> bool:
    """Whether the file says under what terms the model may be used or passed on."""
    return bool(_LICENCE.match(name))


def is_notice(name: str) -> bool:
    """Whether the licence file is a notice, which must be kept and sets no terms of its own."""
    return is_licence(name) and bool(_NOTICE.match(name))


def is_card(name: str) -> bool:
    """Whether the file is a model card."""
    return bool(_CARD.match(name))


def documents(held: Mapping[str, str]) -> dict[str, list[dict[str, str]]]:
    """The licence texts and model cards among files (path to SHA-256), as a decision lists them."""
    return {
        kind: [{"path": path, "sha256": held[path]} for path in sorted(held) if counts(path)]
        for kind, counts in (("texts", is_licence), ("cards", is_card))
    }
