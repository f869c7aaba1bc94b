"""The operands of a named operator: typed, finite, and refused by name where they are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from trlm_lab.base.bits import round_to_bf16
from trlm_lab.errors import OperatorInputError
from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.finite import require_finite
from trlm_lab.ops.kernels import Kernels

#: Longest side of a mask that is made: its square is a quarter of a gigabyte.
LONGEST = 1 << 14


@dataclass(frozen=True)
class Operands:
    """Arrays and scalars by name, as they come out of an archive of arrays.

    `wanted` lists the names for messages; a trailing question mark is an optional one.
    """

    operator: str
    values: Mapping[str, Any]
    wanted: tuple[str, ...]
    arithmetic: Arithmetic
    kernels: Kernels

    def __post_init__(self) -> None:
        known = {name.rstrip("?") for name in self.wanted}
        unknown = sorted(set(self.values) - known)
        if unknown:
            self.refuse(unknown[0], "is not an operand of this operator")

    def compute(self, *operands: Any) -> Array:
        """What the engine's kernel of this operator answers."""
        return np.asarray(self.kernels[self.operator](*operands))

    def compute_pair(self, *operands: Any) -> tuple[Array, Array]:
        """The same for a kernel of two answers."""
        first, second = self.kernels[self.operator](*operands)
        return first, second

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
        try:
            value = np.asarray(self.values[name])
        except ValueError:
            self.refuse(name, "is no array: its rows differ in length")
        if value.dtype.kind not in kinds:
            self.refuse(name, f"has the element type {value.dtype}")
        if value.size == 0:
            self.refuse(name, f"is empty, its shape is {value.shape}")
        return value

    def exactly(self, name: str, dtype: Any) -> Array:
        """The operand, which has this very element type: casting it would hide a mistake."""
        value = self.raw(name, "biufU")
        if value.dtype != np.dtype(dtype):
            self.refuse(name, f"has the element type {value.dtype}, needed is {np.dtype(dtype)}")
        return value

    def scores(self, name: str) -> Array:
        """A numeric operand in the profile's type, infinities and all."""
        with np.errstate(all="ignore"):
            return self.arithmetic.array(self.raw(name, "fiu"))

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

    def integers(self, name: str, least: int = 0) -> Array:
        """Integers from `least` (floats of integral value are taken), as int64."""
        value = self.raw(name, "fiu")
        with np.errstate(invalid="ignore"):
            whole = np.asarray(value, dtype=np.float64)
            if not ((whole == np.floor(whole)) & (whole >= least) & (whole < 2**31)).all():
                self.refuse(name, f"must hold integers from {least} to {2**31 - 1}")
        return value.astype(np.int64)

    def integer(self, name: str) -> int:
        """One integer from 0."""
        value = self.integers(name)
        if value.size != 1:
            self.refuse(name, f"has the shape {value.shape}, needed is one integer")
        return int(value.reshape(()))

    def flag(self, name: str) -> bool:
        """0 or 1, where it is given; else false."""
        if name not in self:
            return False
        value = self.raw(name, "biu")
        if value.size != 1 or int(value.reshape(())) not in (0, 1):
            self.refuse(name, "is neither 0 nor 1")
        return bool(value.reshape(()))

    def length(self, name: str) -> int:
        """One integer from 1 to LONGEST, the side of a square mask."""
        value = self.integer(name)
        if not 1 <= value <= LONGEST:
            self.refuse(name, f"is {value}, needed is 1 to {LONGEST}")
        return value

    def require_bf16(self, name: str, values: Array) -> None:
        """Refuse values that bfloat16 does not hold: rounding them here would go unseen."""
        single = np.asarray(values, dtype=np.float32)
        if not np.array_equal(round_to_bf16(single), values):
            self.refuse(name, "holds values that are no bfloat16 numbers")

    def text(self, name: str) -> str:
        """One text."""
        value = self.raw(name, "U")
        if value.size != 1:
            self.refuse(name, f"has the shape {value.shape}, needed is one text")
        return str(value.reshape(()))
