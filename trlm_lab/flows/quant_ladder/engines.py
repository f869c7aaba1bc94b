"""The upper rungs: checkpoints of an engine on the artifact, and the same from the rung below.

An engine runs the case; the reference, other code in another language, runs it with the engine's
operator and layer output put in the place of its own, so that each rung is held against what
follows from the one below and not from its own start.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.backends.model_files import open_artifact
from trlm_lab.backends.native import NativeRunner
from trlm_lab.backends.profiles import evaluation_profile
from trlm_lab.backends.reference import Plant, ReferenceRunner
from trlm_lab.backends.wasm_wasmtime import WasmtimeRunner
from trlm_lab.base.interfaces import Runner, Subject
from trlm_lab.base.records import Case
from trlm_lab.errors import (
    QuantCodeError,
    QuantNonFiniteError,
    QuantPaddingError,
    QuantScaleError,
    RuntimeRefusedError,
    Slm1Error,
    SlmError,
    UnsupportedModelError,
)
from trlm_lab.flows.quant_ladder.model_use import ModelUse, Seen, Vectors, multiplies, names_beside
from trlm_lab.flows.quant_ladder.subject import LadderSubject
from trlm_lab.ops.matmul import matmul

if TYPE_CHECKING:
    from trlm_lab.flows.quant_ladder.route import Route

Array = NDArray[Any]
TOPK = "logits.topk_ids"
LANES = "lanes16-f32-v1"


@dataclass(frozen=True)
class Upper:
    """`seen` is the engine's, `follows` the reference's from it, `source` that of the source.

    `alone` says why there is no second engine, where there is none. `lanes` is what the vectorised
    engine of the same packed bytes saw, where the operator is a plain product; empty elsewhere.
    `refused` is why no engine runs the artifact; nothing was seen then.
    """

    case: Case
    engine: str
    seen: Seen
    follows: Seen
    source: Seen = field(default_factory=dict)
    beside: Vectors = field(default_factory=dict)
    alone: str = ""
    lanes: Seen = field(default_factory=dict)
    refused: str = ""


#: What a reader says of stored values that no writer produces.
UNSOUND = (
    QuantCodeError,
    QuantNonFiniteError,
    QuantPaddingError,
    QuantScaleError,
    RuntimeRefusedError,
    Slm1Error,
    SlmError,
)


def run_upper(subject: LadderSubject, route: Route, case: Case, *, source: bool = True) -> Upper:
    """Run the case three times: an engine, the reference after it, the source's own weights."""
    runner, alone = _engine(route)
    try:
        return _run(subject, route, case, (runner, alone), source=source)
    except UNSOUND as error:
        return Upper(case, runner.name, {}, {}, refused=f"{error.code}: {error.detail}")


def _run(
    subject: LadderSubject, route: Route, case: Case, engine: tuple[Runner, str], *, source: bool
) -> Upper:
    use, (runner, alone) = ModelUse.of(subject), engine
    names = {use.operator, use.inputs, use.layer, "logits", TOPK}
    seen = _watched(runner, Subject(artifact=subject.artifact), case, names)
    follows = _following(subject, case, seen, use)
    before = {}
    if source:
        before = _watched(
            ReferenceRunner(config=subject.source_config), Subject(model_dir=subject.root), case,
            names,
        )  # fmt: skip
    beside = _beside(subject, seen[use.inputs])
    lanes = _lanes(subject, route, case, use) if not beside else {}
    return Upper(case, runner.name, seen, follows, before, beside, alone, lanes)


def _lanes(subject: LadderSubject, route: Route, case: Case, use: ModelUse) -> Seen:
    """The operator and its input in the vectorised native engine, whose sums have sixteen lanes."""
    runner = NativeRunner(LANES)
    capped = subject.role == "lm_head" and subject.config.final_logit_softcapping is not None
    plain = multiplies(subject) and subject.stored.sparse is None and not capped
    if not plain or route.plant is not None or not runner.availability().available:
        return {}
    names = {use.operator, use.inputs}
    return _watched(runner, Subject(artifact=subject.artifact), case, names)


def _engine(route: Route) -> tuple[Runner, str]:
    """The engine with the fault, or the first sound one that is not the reference."""
    if route.plant is not None:
        return ReferenceRunner(plant=route.plant, name="reference with a fault"), ""
    for runner in (NativeRunner(), WasmtimeRunner()):
        if runner.availability().available:
            return runner, ""
    return ReferenceRunner(), "no engine but the reference is here: it cannot check itself"


def _watched(runner: Runner, subject: Subject, case: Case, names: set[str]) -> Seen:
    seen: Seen = {}
    with runner.open(subject) as session:
        for one in session.run(case):
            if one.name in names:
                seen[one.name] = np.array(one.values)
    missing = sorted(names - set(seen))
    if missing:
        detail = f"{runner.name} shows no {', '.join(missing)}"
        raise UnsupportedModelError(where=runner.name, detail=detail)
    return seen


def _following(subject: LadderSubject, case: Case, seen: Seen, use: ModelUse) -> Seen:
    """The reference's values, each behind what the engine said of the rung below."""
    own: Seen = {}
    given = {use.operator, use.layer}

    def perturb(name: str, values: Array) -> Array:
        if name in given:
            own[name] = np.array(values)
            return seen[name].reshape(values.shape)
        return values

    runner = ReferenceRunner(plant=Plant(perturb=perturb))
    shown = _watched(runner, Subject(artifact=subject.artifact), case, {"logits", TOPK})
    return {**shown, **own}


def _beside(subject: LadderSubject, x: Array) -> Vectors:
    """Vectors that the operator needs beside the tensor, as the artifact has them."""
    wanted = names_beside(subject)
    if not wanted:
        return {}
    tensors = open_artifact(subject.artifact).tensors
    found = {key: tensors[name] for key, name in wanted.items()}
    if "matrix" in found:
        arithmetic = evaluation_profile("scalar-f32-v1").arithmetic()
        return {"projected": matmul(x, found["matrix"], arithmetic)}
    return {key: np.asarray(rows[:]) for key, rows in found.items()}
