"""The range that each number of a configuration may have; every reader refuses what lies outside.

Wide enough for any published model and small enough that nothing loops or allocates by a hostile
number. Floats are used as float32, so their lower bound is its smallest normal number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SMALLEST_NORMAL_F32 = 2.0**-126


@dataclass(frozen=True)
class Bound:
    """The closed range of a number; `whole` numbers are integers."""

    low: float
    high: float
    whole: bool = True

    def problem(self, value: Any) -> str:
        """What is wrong with a value, with the allowed range; empty for a good one."""
        kinds: tuple[type, ...] = (int,) if self.whole else (int, float)
        # Python counts Booleans among the integers; a comparison with NaN is false.
        ok = isinstance(value, kinds) and not isinstance(value, bool)
        if ok and self.low <= value <= self.high:
            return ""
        kind = "an integer" if self.whole else "a number"
        return f"{shown(value)} is not {kind} from {self.low:g} to {self.high:.10g}"


def shown(value: Any) -> str:
    """A value as a message shows it: at most 80 characters."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"an integer of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


CONFIG_BOUNDS: dict[str, Bound] = {
    "vocab_size": Bound(1, 2**24),
    "hidden_size": Bound(1, 2**17),
    "intermediate_size": Bound(1, 2**19),
    "num_hidden_layers": Bound(1, 1024),
    "num_attention_heads": Bound(1, 4096),
    "num_key_value_heads": Bound(1, 4096),
    "head_dim": Bound(2, 4096),
    "max_position_embeddings": Bound(1, 2**31 - 1),
    "rms_norm_eps": Bound(SMALLEST_NORMAL_F32, 1.0, whole=False),
    "layer_norm_epsilon": Bound(SMALLEST_NORMAL_F32, 1.0, whole=False),
    "rope_theta": Bound(1.0, 1e12, whole=False),
    "rope_local_base_freq": Bound(1.0, 1e12, whole=False),
    "sliding_window": Bound(1, 2**31 - 1),
}
TOKEN_ID = Bound(0, 2**31 - 1)
