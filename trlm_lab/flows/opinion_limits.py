"""How far llama.cpp may be from the others: data, by activation, with a source for each number."""

from __future__ import annotations

from importlib.resources import files

from trlm_lab.base import strict_json
from trlm_lab.base.records.third_opinion import OpinionLimit
from trlm_lab.errors import UnknownNameError

_SCHEMA = "trlm.third_opinion.limits.v1"


def opinion_limit(hidden_act: str) -> OpinionLimit:
    """The limit for models of this activation.

    Raises:
        UnknownNameError: none is declared.
    """
    path = files("trlm_lab.data") / "peers" / "llama_cpp.json"
    table = strict_json.loads(path.read_bytes(), where=path.name)
    assert table["schema"] == _SCHEMA
    rows = {row["hidden_act"]: row for row in table["limits"]}
    if hidden_act not in rows:
        raise UnknownNameError(kind="activation", name=hidden_act, known=", ".join(rows))
    shared = {name: table[name] for name in ("least_rms", "fault_ratio")}
    return OpinionLimit(**rows[hidden_act], **shared)
