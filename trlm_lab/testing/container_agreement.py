"""Damaged files by number, and whether the three readers say the same of each.

A file is drawn from its seed and number alone: a sound one, one lie in a field (or two), and in
most cases every hash made to hold again. The Python reader and the runtime must name the same rule,
and that rule, or nothing, must be among the inspector's findings.
"""

from __future__ import annotations

import hashlib
import time
import tracemalloc
from collections import Counter
from dataclasses import dataclass, field
from random import Random

from trlm_lab.backends.abi_host import Host
from trlm_lab.testing.container_judges import by_inspector, by_python, by_runtime, rule_of
from trlm_lab.testing.container_lies import LIES, lied
from trlm_lab.testing.container_sealing import sealed
from trlm_lab.testing.slm1_lies import KINDS, slm1_lied
from trlm_lab.testing.sound_containers import LARGE, RECIPES, SLM1_FILES, slm1_file, slm2_file

#: Of every ten files these many are SLM1; of every hundred these many keep their broken hashes.
_SLM1_OF_TEN, _UNSEALED_OF_HUNDRED, _TWO_LIES_OF_TEN = 3, 15, 1
_SMALL = tuple(name for name in RECIPES if name not in LARGE)
#: What a reader may hold at once, beyond four times the file.
SLACK = 16 << 20


@dataclass(frozen=True)
class Damaged:
    """A damaged file, and how it came about."""

    data: bytes
    base: str
    lies: tuple[str, ...]
    is_sealed: bool


@dataclass
class Tally:
    """What was said, and the most that it took."""

    rules: Counter[str] = field(default_factory=Counter)
    apart: list[str] = field(default_factory=list)
    sealed: int = 0
    slowest_s: float = 0.0
    most_memory: float = 0.0
    digest: str = ""

    @property
    def accepted(self) -> int:
        """Files that all three accept."""
        return self.rules[""]


def damaged(seed: int, number: int) -> Damaged:
    """The file of a number."""
    draw = Random(f"{seed}/{number}")
    is_slm1 = number % 10 < _SLM1_OF_TEN
    kinds = KINDS if is_slm1 else tuple(LIES)
    first = kinds[number // 10 % len(kinds)]
    more = (draw.choice(kinds),) if draw.randrange(10) < _TWO_LIES_OF_TEN else ()
    base = draw.choice(_suited_slm1(first) if is_slm1 else _suited(first))
    sound = slm1_file(base) if is_slm1 else slm2_file(base)
    data = (slm1_lied if is_slm1 else lied)(sound, draw, first, *more)
    is_sealed = first != "profile" and draw.randrange(100) >= _UNSEALED_OF_HUNDRED
    if first == "checksum":
        is_sealed = False
    return Damaged(sealed(data) if is_sealed else data, base, (first, *more), is_sealed)


def _suited(lie: str) -> tuple[str, ...]:
    """The sound files in which a lie finds its place."""
    if lie == "residual":
        return (*(n for n in _SMALL if n.startswith("residual")), "rich")
    if lie in ("codes", "lowest_code", "scales"):
        return tuple(n for n in _SMALL if n not in ("f32", "f16", "bf16"))
    if lie == "tokenizer":
        return ("compiled",)
    # What a compiled tokenizer's sections hold is looked into by two of the readers only.
    return tuple(n for n in _SMALL if n != "compiled") if lie == "anywhere" else _SMALL


def _suited_slm1(lie: str) -> tuple[str, ...]:
    wanted = {"weight": ("f32",), "scale": ("q8_0", "q4_0")}.get(lie, ("",))
    return tuple(name for name in SLM1_FILES if name.startswith(wanted))


def judge(host: Host, files: range, *, seed: int, memory: bool = False) -> Tally:
    """All files of a range before all three readers. `memory` also traces the first two."""
    tally, digest = Tally(), hashlib.sha256()
    for number in files:
        found = damaged(seed, number)
        digest.update(hashlib.sha256(found.data).digest())
        tally.sealed += found.is_sealed
        if memory:
            tracemalloc.start()
        at = time.process_time()
        code, findings = by_python(found.data), by_inspector(found.data)
        tally.slowest_s = max(tally.slowest_s, time.process_time() - at)
        if memory:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            tally.most_memory = max(tally.most_memory, peak / (4 * len(found.data) + SLACK))
        name = by_runtime(host, found.data)
        agree = rule_of(name, found.data) == code
        agree = agree and (code in findings if code else not findings)
        if not agree:
            lies = "+".join(found.lies)
            said = f"{code or 'accepted'}, {name or 'accepted'}, {sorted(findings)}"
            tally.apart.append(f"{seed}/{number} {found.base} {lies}: {said}")
        tally.rules[code] += 1
    tally.digest = digest.hexdigest()
    return tally
