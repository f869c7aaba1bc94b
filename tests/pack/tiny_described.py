"""The tiny model of a family with its effective configuration."""

from dataclasses import dataclass
from pathlib import Path

from trlm_lab.base.records import EffectiveConfig


@dataclass(frozen=True)
class Described:
    """A model directory and what its framework does with it."""

    root: Path
    config: EffectiveConfig
