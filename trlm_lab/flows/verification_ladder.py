"""The rungs of a quantization ladder as a stranger checks them: each step again from its arrays.

What a rung says of itself must be said by its blob too; its outcome must follow from the hashes;
and where a rung and the one below hold their arrays, the step between them is taken anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.records import Outcome
from trlm_lab.flows.quant_ladder.own import turned
from trlm_lab.flows.quant_ladder.rung import little
from trlm_lab.flows.verification_dossier import Dossier
from trlm_lab.rungs import (
    RUNGS,
    Storage,
    lanes_dot,
    pack_rows,
    parameters,
    rounded,
    scalar_dot,
    scale_values,
    unpack_rows,
    values_of,
    words_of,
)

Array = NDArray[Any]
#: Arrays of the rungs below, by name.
Below = dict[str, Array]


def check_ladder_rung(dossier: Dossier, node_id: str) -> None:
    """A rung against its blob, its number and name, its hashes, and the rungs below it."""
    graph = dossier.graph
    facts, value = graph.node(node_id).metadata, graph.value(node_id, "rung_blob")
    chain = _chain(dossier, node_id)
    for key in ("rung", "number", "outcome", "follows"):
        if value[key] != facts[key]:
            _fail(dossier, node_id, f"its blob says {value[key]!r:.60}", key)
    if facts["number"] != len(chain) - 1 or facts["rung"] != RUNGS[len(chain) - 1]:
        _fail(dossier, node_id, f"it stands on {len(chain) - 1} rungs", "number")
    if any(graph.node(n).metadata["tensor"] != facts["tensor"] for n in chain):
        _fail(dossier, node_id, "a rung below is of another tensor", "tensor")
    if _outcome(value).value != facts["outcome"]:
        _fail(dossier, node_id, f"its claims give {_outcome(value).value}", "outcome")
    _check_array(dossier, node_id, value)
    _check_step(dossier, node_id, chain)


def _fail(dossier: Dossier, node_id: str, detail: str, key: str) -> None:
    dossier.fail("RECORD_ID", node_id, detail, key)


def _chain(dossier: Dossier, node_id: str) -> list[str]:
    """This rung and those below, the ground first."""
    found = [node_id]
    while below := dossier.graph.children(found[-1], "ladder_rung"):
        found.append(below[0])
    return found[::-1]


def _outcome(value: dict[str, Any]) -> Outcome:
    """By the hashes: a claim of a part of the rung has only its count."""
    if value["unreached"]:
        return Outcome.NOT_SUPPORTED
    for claim in value["claims"].values():
        whole = not claim["part"]
        if claim["refused"] or claim["differing"]:
            return Outcome.WRONG
        if whole and claim["sha256"] != value["follows"]:
            return Outcome.WRONG
    return Outcome.INFRA if value["unchecked"] else Outcome.MATCH


def _check_array(dossier: Dossier, node_id: str, value: dict[str, Any]) -> None:
    """The array that is kept is the first claim."""
    if "claim" not in value:
        return
    first = value["claims"][value["first_claim"]]
    said = value["follows"] if first["refused"] or first["part"] else first["sha256"]
    digest = hashlib.sha256(value["claim"]["data"]).hexdigest()
    if not first["part"] and digest != said:
        _fail(dossier, node_id, f"its array has the hash {digest[:16]}…", "rung_blob")


def _check_step(dossier: Dossier, node_id: str, chain: list[str]) -> None:
    """What follows from the rungs below, taken again."""
    graph, name = dossier.graph, graph_name(dossier, node_id)
    values = [graph.value(n, "rung_blob") for n in chain]
    if name not in STEPS or not all("claim" in v for v in values[:-1]):
        return
    below = {v["rung"]: array_of(v["claim"]) for v in values[:-1]}
    if "scalar_dot" in {v["rung"] for v in values}:
        below["inputs"] = array_of(values[RUNGS.index("scalar_dot")]["inputs"])
    if name == "kernel_dot" and "inputs" in values[-1]:
        below["lanes_inputs"] = array_of(values[-1]["inputs"])
    about = graph.value(chain[0], "ladder_blob")
    if about["codes_id"] and name in ("parameters", "codes"):
        # An input: only the file of codes says them.
        return
    about["rows"] = graph.node(chain[0]).metadata["rows"]
    with np.errstate(all="ignore"):
        made = STEPS[name](below, about)
    digest = hashlib.sha256(little(made)).hexdigest()
    if digest != values[-1]["follows"]:
        _fail(dossier, node_id, f"the step gives {digest[:16]}… from the rung below", "follows")


def graph_name(dossier: Dossier, node_id: str) -> str:
    """The rung's name."""
    return str(dossier.graph.node(node_id).metadata["rung"])


def array_of(row: dict[str, Any]) -> Array:
    """An array of a blob."""
    return np.frombuffer(row["data"], row["dtype"]).reshape(row["shape"])


def _storage(about: dict[str, Any]) -> Storage:
    row = about["storage"]
    return Storage(**{**row, "fractions": tuple(row["fractions"])})


def _semantic(below: Below, about: dict[str, Any]) -> Array:
    first, last = about["rows"]
    dtype, turn = about["source"]["dtype"], (about["transposed"], about["rotary"])
    return turned(below["source"], dtype, *turn, (first, last))


def _parameters(below: Below, about: dict[str, Any]) -> Array:
    return parameters(below["semantic"], _storage(about)).words


def _scales(below: Below, about: dict[str, Any]) -> Array:
    return scale_values(below["parameters"], _storage(about).scales)


def _codes(below: Below, about: dict[str, Any]) -> Array:
    storage = _storage(about)
    if storage.dense:
        return words_of(below["semantic"], storage)
    return rounded(below["semantic"], _scales(below, about), storage).codes


def _dequantized(below: Below, about: dict[str, Any]) -> Array:
    codes = below["unpacked"][:, : about["shape"][1]]
    return values_of(codes, _scales(below, about), _storage(about))


def _scalar(below: Below, about: dict[str, Any]) -> Array:
    return scalar_dot(below["inputs"], below["dequantized"]).T


def _kernel(below: Below, about: dict[str, Any]) -> Array:
    x, rows = below["inputs"], below["dequantized"]
    made = [scalar_dot(x, rows).T, lanes_dot(x, rows).T]
    if "lanes_inputs" in below:
        made.append(lanes_dot(below["lanes_inputs"], rows).T)
    return np.stack(made, axis=1)


def _token(below: Below, about: dict[str, Any]) -> Array:
    last = below["logits"][-1]
    return np.array([int(np.flatnonzero(last == last.max())[0])], np.int64)


#: How a rung follows from those below; the operator, the layer and the logits need the model.
STEPS: dict[str, Callable[[Below, dict[str, Any]], Array]] = {
    "semantic": _semantic,
    "parameters": _parameters,
    "codes": _codes,
    "packed": lambda below, about: pack_rows(below["codes"], _storage(about)),
    "unpacked": lambda below, about: unpack_rows(below["packed"], _storage(about)),
    "dequantized": _dequantized,
    "scalar_dot": _scalar,
    "kernel_dot": _kernel,
    "token": _token,
}
