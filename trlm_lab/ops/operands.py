"""The operands of a named operator: typed, finite, and refused by name where they are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from trlm_lab.errors import OperatorInputError
from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.finite import require_finite
from trlm_lab.ops.masks import MASKED_SCORE


@dataclass(frozen=True)
class Operands:
    """Arrays and scalars by name, as they come out of an archive of arrays.

    `wanted` lists the names for messages; a trailing question mark is an optional one.
    """

    operator: str
    values: Mapping[str, Any]
    wanted: tuple[str, ...]
    arithmetic: Arithmetic

    def __post_init__(self) -> None:
        known = {name.rstrip("?") for name in self.wanted}
        unknown = sorted(set(self.values) - known)
        if unknown:
            self.refuse(unknown[0], "is not an operand of this operator")

    def refuse(self, name: str, why: str) -> NoReturn:
        """Raise OperatorInputError about one operand."""
        wanted = ", ".join(self.wanted)
        raise OperatorInputError(where=self.operator, detail=f"{name} {why}", wanted=wanted)

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def raw(self, name: str, kinds: str) -> Array:
        """The operand as an array of one of the NumPy kinds `kinds`."""
        if name not in self.values:
            self.refuse(name, "is missing")
        value = np.asarray(self.values[name])
        if value.dtype.kind not in kinds:
            self.refuse(name, f"has the element type {value.dtype}")
        if value.size == 0:
            self.refuse(name, f"is empty, its shape is {value.shape}")
        return value

    def scores(self, name: str) -> Array:
        """A numeric operand in the profile's type, infinities and all."""
        with np.errstate(all="ignore"):
            return self.arithmetic.array(self.raw(name, "fiub"))

    def tensor(self, name: str, *ranks: int) -> Array:
        """A finite numeric operand in the profile's type, of one of the ranks (any where none).

        Raises:
            NonFiniteError: an element is not finite in that type.
        """
        value = self.scores(name)
        if ranks and value.ndim not in ranks:
            self.refuse(name, f"has rank {value.ndim}, needed is {' or '.join(map(str, ranks))}")
        require_finite(value, f"{self.operator}: {name}")
        return value

    def number(self, name: str) -> float:
        """A finite scalar (an array of one element)."""
        value = self.raw(name, "fiu")
        if value.size != 1:
            self.refuse(name, f"has the shape {value.shape}, needed is one number")
        require_finite(value.reshape(()), f"{self.operator}: {name}")
        return float(value.reshape(()))

    def integers(self, name: str) -> Array:
        """Integers from 0 (floats of integral value are taken), as int64."""
        value = self.raw(name, "fiu")
        with np.errstate(invalid="ignore"):
            whole = np.asarray(value, dtype=np.float64)
            if not ((whole == np.floor(whole)) & (whole >= 0) & (whole < 2**31)).all():
                self.refuse(name, "must hold integers from 0")
        return value.astype(np.int64)

    def integer(self, name: str) -> int:
        """One integer from 0."""
        value = self.integers(name)
        if value.size != 1:
            self.refuse(name, f"has the shape {value.shape}, needed is one integer")
        return int(value.reshape(()))

    def text(self, name: str) -> str:
        """One text."""
        value = self.raw(name, "U")
        if value.size != 1:
            self.refuse(name, f"has the shape {value.shape}, needed is one text")
        return str(value.reshape(()))

    def mask(self, name: str, shape: tuple[int, ...]) -> Array:
        """What is visible, broadcast to `shape`; absent means everything.

        Booleans and integers: nonzero is visible. Floats: an additive plane, 0 is visible and -inf
        or the most negative float32 is masked; a plane of zeros and ones that has a one is taken as
        Booleans. Other values are refused, since a mask is no bias.
        """
        if name not in self.values:
            return np.ones(shape, dtype=np.bool_)
        value = self.raw(name, "fiub")
        try:
            plane = np.broadcast_to(value, shape)
        except ValueError:
            self.refuse(name, f"has the shape {value.shape}, which does not broadcast to {shape}")
        if value.dtype.kind != "f":
            return np.asarray(plane, dtype=np.bool_)
        if (value == 1).any() and np.isin(value, (0, 1)).all():
            return np.asarray(plane == 1)
        if not ((value == 0) | (value <= MASKED_SCORE)).all():
            self.refuse(name, "holds values that are neither visible nor masked")
        return np.asarray(plane == 0)
