"""The reference engine: the NumPy operators of one evaluation profile over a model's own files.

It is the portable oracle and the seat of planted faults. `operators` describes the seam; a `Plant`
holds what a fault changes and is handed to `ReferenceRunner`, after which the session answers
exactly as a sound one does, with the sound files and hashes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

import numpy as np

from trlm_lab import __version__
from trlm_lab.backends.forward import Chunk, ModelForward, Perturb, unperturbed
from trlm_lab.backends.held_weights import held_tensors
from trlm_lab.backends.kv_cache import KvCache
from trlm_lab.backends.model_files import OpenModel, open_subject
from trlm_lab.backends.operators import Ints, Operators, sound_operators
from trlm_lab.backends.profiles import evaluation_profile
from trlm_lab.backends.weights import ArrayWeights, Weights
from trlm_lab.base.case_rules import check_case, check_decoding, check_positions
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import Availability, Case, EffectiveConfig, EngineIdentity, Observation
from trlm_lab.errors import ContextLengthError

#: Threads over blocks of outputs. They do not change a bit; a second one gained nothing where
#: measured (two cores, T = 1 to 128): the interpreter's lock is held between short updates.
THREADS = 1


@dataclass(frozen=True)
class Plant:
    """What a planted fault changes; the default changes nothing.

    `operators(layer, sound)` gives a layer's operators (layer None: embedding, final norm, head),
    `weights(sound)` wraps the tensors, `perturb(name, values)` sees every checkpoint before it
    flows on (arrays in the profile's type; return a new array, do not write into the given one).
    """

    operators: Callable[[int | None, Operators], Operators] = lambda layer, sound: sound
    weights: Callable[[Weights], Weights] = lambda sound: sound
    perturb: Perturb = unperturbed


NO_FAULT = Plant()


class ReferenceRunner:
    """The `Runner` of a profile: `scalar-f32-v1`, `lanes16-f32-v1` or `f64-reference`."""

    def __init__(
        self,
        profile: str = "scalar-f32-v1",
        *,
        plant: Plant = NO_FAULT,
        name: str = "reference",
        config: EffectiveConfig | None = None,
        threads: int = THREADS,
        hold: bool = False,
    ) -> None:
        """`config` is the described configuration of a model directory; an `.slm` has its own.

        `hold` keeps every matrix decoded in memory, for many short cases on one model.

        Raises:
            UnknownNameError: no such profile.
        """
        self.profile = evaluation_profile(profile)
        self.name = name
        self.plant = plant
        self.config = config
        self.threads = threads
        self.hold = hold

    def availability(self) -> Availability:
        """Always here: it needs NumPy only."""
        return Availability(True, version=__version__, features=(self.profile.name,))

    def open(self, subject: Subject) -> ReferenceSession:
        """Map the files and check structure, self hash and tensor shapes.

        Raises:
            Refused: the files are unsound, or hold a model that the engine cannot run.
        """
        return self.start(open_subject(subject, self.config))

    def start(self, model: OpenModel) -> ReferenceSession:
        """A session on tensors already in memory."""
        arithmetic = self.profile.arithmetic(self.threads)
        sound = sound_operators(arithmetic, model.config)
        layers: tuple[int | None, ...] = (None, *range(model.config.num_hidden_layers))
        chosen = {layer: self.plant.operators(layer, sound) for layer in layers}
        tensors = held_tensors(model.tensors, arithmetic.dtype) if self.hold else model.tensors
        weights = self.plant.weights(ArrayWeights(tensors))
        forward = ModelForward(
            model.config, weights, arithmetic, chosen.__getitem__, self.plant.perturb
        )
        return ReferenceSession(forward, self._identity())

    def _identity(self) -> EngineIdentity:
        return EngineIdentity(
            name=self.name,
            version=__version__,
            profile=self.profile.name,
            build_sha256=code_sha256(),
            details={"profile_id": self.profile.profile_id, "numpy": np.__version__},
        )


class ReferenceSession:
    """An opened model. Runs are independent; `advance` continues a conversation's cache."""

    def __init__(self, forward: ModelForward, identity: EngineIdentity) -> None:
        self.forward = forward
        self._identity = identity

    @property
    def identity(self) -> EngineIdentity:
        """Who computes."""
        return self._identity

    @property
    def config(self) -> EffectiveConfig:
        """The configuration in force."""
        return self.forward.config

    @property
    def _limits(self) -> tuple[int, int, int | None]:
        """What bounds a case: vocabulary, context, window."""
        c = self.config
        return c.vocab_size, c.max_position_embeddings, c.sliding_window

    def run(self, case: Case) -> Iterator[Observation]:
        """`token_ids` (and positions and mask, where the case gives them), then the checkpoints.

        Raises:
            TokenRangeError, ContextLengthError, PositionRangeError, MaskValueError,
            AllKeysMaskedError: as `base.case_rules.check_case`.
        """
        check_case(case, *self._limits)
        yield from _inputs(case)
        yield from self.prefill(case, self.new_cache())

    def prefill(self, case: Case, cache: KvCache) -> Iterator[Observation]:
        """The checkpoints of a case behind what the cache holds."""
        positions = case.position_ids or range(cache.length, cache.length + len(case.token_ids))
        keep = case.attention_mask or (1,) * len(case.token_ids)
        return self.advance(
            cache, np.array(case.token_ids, np.int64), np.array(positions, np.int64), keep
        )

    def steps(self, case: Case, decode_steps: int) -> Iterator[Observation]:
        """A prefill, then greedy steps named `step{s}.<name>` from 0, then `generated`.

        The greedy token is the lowest id among the largest logits. Raises as `run`, and where the
        steps outgrow the context.
        """
        check_decoding(case, decode_steps, *self._limits)
        yield from _inputs(case)
        cache = self.new_cache()
        last = yield from self._greedy(self.prefill(case, cache))
        position = (case.position_ids or range(len(case.token_ids)))[-1]
        generated = []
        for step in range(decode_steps):
            generated.append(last)
            token = np.array([last], np.int64)
            positions = np.array([position + step + 1], np.int64)
            chunk = self.advance(cache, token, positions)
            last = yield from self._greedy(chunk, f"step{step}.")
        yield Observation("generated", np.array(generated, np.int64))

    def _greedy(
        self, chunk: Iterator[Observation], prefix: str = ""
    ) -> Generator[Observation, None, int]:
        """Pass a chunk on under a prefix; the greedy token after its last position."""
        token = -1
        for seen in chunk:
            if seen.name == "logits.topk_ids":
                token = int(seen.values[-1, 0])
            yield replace(seen, name=prefix + seen.name)
        return token

    def new_cache(self) -> KvCache:
        """A cache of no tokens."""
        return self.forward.new_cache()

    def advance(
        self,
        cache: KvCache,
        token_ids: Ints,
        positions: Ints | None = None,
        keep: tuple[int, ...] | None = None,
    ) -> Iterator[Observation]:
        """Run tokens behind those in the cache; the same bits as one prefill of them all.

        `positions` continue the cache's length by default; `keep` is 0 for padding tokens.

        Raises:
            ContextLengthError: the cache would outgrow the declared context.
            PositionRangeError: a position that the context does not hold.
        """
        start, limit = cache.length, self.config.max_position_embeddings
        if start + len(token_ids) > limit:
            tokens = start + len(token_ids)
            raise ContextLengthError(where="case", tokens=tokens, limit=limit)
        if positions is not None:
            check_positions(positions.tolist(), limit, "case")
        else:
            positions = np.arange(start, start + len(token_ids), dtype=np.int64)
        cache.keep.extend([True] * len(token_ids) if keep is None else map(bool, keep))
        return self.forward.advance(Chunk(token_ids, positions, cache))

    def __enter__(self) -> ReferenceSession:
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing to release: the files stay mapped while arrays look at them."""


def _inputs(case: Case) -> Iterator[Observation]:
    for name in ("token_ids", "position_ids", "attention_mask"):
        value = getattr(case, name)
        if value is not None:
            yield Observation(name, np.array(value, dtype=np.int64))


#: What decides the engine's bits: whole rooms, and files of others.
CODE_ROOMS = ("ops", "quant")
CODE_FILES = {
    "backends": (
        "forward.py",
        "held_weights.py",
        "kv_cache.py",
        "operators.py",
        "reference.py",
        "safetensors_weights.py",
        "slm_weights.py",
        "source_weights.py",
        "weights.py",
    ),
    "base": ("model_parts.py", "source_tensors.py"),
    "base/records": ("config.py",),
    "slm": ("planes.py", "read.py"),
}


def _code_files() -> Iterator[tuple[str, Traversable]]:
    root = files("trlm_lab")
    for room in (*CODE_ROOMS, *CODE_FILES):
        for entry in sorted((root / room).iterdir(), key=lambda e: e.name):
            mine = room in CODE_ROOMS or entry.name in CODE_FILES[room]
            if mine and entry.name.endswith(".py"):
                yield f"{room}/{entry.name}", entry


@cache
def code_sha256() -> str:
    """SHA-256 over the source files that compute, with their names."""
    digest = hashlib.sha256()
    for name, entry in _code_files():
        digest.update(name.encode() + b"\0" + entry.read_bytes())
    return digest.hexdigest()
