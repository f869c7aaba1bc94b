"""The reference engine with one named fault planted after the artifact was admitted.

`faulty:NAME@LAYER`: a name of the catalogue, and a layer's number, `first`, `middle` or `last`. A
fault outside the layers is `faulty:NAME`; a layer given to it is ignored. The files are opened and
their hashes checked as the sound engine does it; only then does the fault enter.
"""

from __future__ import annotations

from trlm_lab.backends.faults import CATALOGUE, Fault, Planting, planting, refusal
from trlm_lab.backends.model_files import OpenModel, open_subject
from trlm_lab.backends.reference import ReferenceRunner, ReferenceSession
from trlm_lab.backends.slm_weights import CodedRows
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.model_parts import tensor_name
from trlm_lab.base.records import Availability, EffectiveConfig
from trlm_lab.errors import FaultNameError, FaultNotApplicableError

PREFIX = "faulty:"


class FaultyRunner:
    """A `Runner` that answers as the reference engine does, but for one fault."""

    def __init__(
        self,
        spec: str,
        *,
        profile: str = "scalar-f32-v1",
        config: EffectiveConfig | None = None,
    ) -> None:
        """Parse the specification, with or without `faulty:` before it.

        Raises:
            FaultNameError: no such fault, or no layer where one is needed.
        """
        self.spec = spec.removeprefix(PREFIX)
        self.name = PREFIX + self.spec
        self.fault, self._layer = parse_spec(self.spec)
        self.profile = profile
        self.config = config

    def availability(self) -> Availability:
        """Always here, as the reference engine is."""
        return ReferenceRunner(self.profile).availability()

    def planting(self, config: EffectiveConfig) -> Planting:
        """The fault in this model, with the boundary expected of it.

        Raises:
            FaultNameError: the model has no such layer.
        """
        layer = None if self.fault.whole_model else layer_number(self.spec, self._layer, config)
        return planting(self.fault, layer, config)

    def open(self, subject: Subject) -> ReferenceSession:
        """Admit the subject soundly, then plant.

        Raises:
            FaultNameError, FaultNotApplicableError: the fault does not fit the model.
            Refused: the reference engine refuses the subject.
        """
        model = open_subject(subject, self.config)
        planted = self.planting(model.config)
        why = refusal(self.fault, model.config, quantization(model))
        if why is None and planted.layer not in (None, *self.fault.layers(model.config)):
            why = f"layer {planted.layer} does not slide"
        if why:
            raise FaultNotApplicableError(where=self.name, fault=self.fault.name, detail=why)
        plant = self.fault.plant(model.config, planted.layer)
        return ReferenceRunner(self.profile, plant=plant, name=PREFIX + planted.spec).start(model)


def parse_spec(spec: str) -> tuple[Fault, str]:
    """The fault and the text of its layer (empty where none is given).

    Raises:
        FaultNameError: no such fault, or no layer where one is needed.
    """
    name, _, layer = spec.partition("@")
    if name not in CATALOGUE:
        detail = f"known are {', '.join(CATALOGUE)}"
        raise FaultNameError(where="backend", spec=spec, detail=detail)
    fault = CATALOGUE[name]
    if not layer and not fault.whole_model:
        raise FaultNameError(where="backend", spec=spec, detail="it needs a layer")
    return fault, layer


def layer_number(spec: str, layer: str, config: EffectiveConfig) -> int:
    """The layer's number in a model.

    Raises:
        FaultNameError: neither a layer of the model nor `first`, `middle` or `last`.
    """
    count = config.num_hidden_layers
    named = {"first": 0, "middle": count // 2, "last": count - 1}
    if layer in named:
        return named[layer]
    if not (layer.isascii() and layer.isdigit()) or int(layer) >= count:
        raise FaultNameError(where="backend", spec=spec, detail=f"the model has {count} layers")
    return int(layer)


def quantization(model: OpenModel) -> str:
    """How the first query projection of an open model is stored: a block format, or `f32`."""
    queries = model.tensors[tensor_name(model.config, "q_proj", 0)]
    return queries.format.name if isinstance(queries, CodedRows) else "f32"
