"""Read out of the live source what each configuration value is in effect, and where it says so.

The model is built without weights (torch's meta device), so nothing is re-implemented: a value is
what the source's own modules hold, or what they answer when they are run on a probe.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from trlm_lab.base.records import EffectiveConfig, SourceDefault, SourceDefaults
from trlm_lab.errors import OracleModelError
from trlm_lab.oracle.defaults.attention import attention_rows
from trlm_lab.oracle.defaults.blocks import block_rows
from trlm_lab.oracle.defaults.positions import position_rows
from trlm_lab.oracle.defaults.refused import refused
from trlm_lab.oracle.defaults.shapes import shape_rows
from trlm_lab.oracle.defaults.source import Source
from trlm_lab.oracle.defaults.tokens import generation_rows, token_rows
from trlm_lab.oracle.environment import framework
from trlm_lab.oracle.families import FAMILIES
from trlm_lab.oracle.loading import one_line, quiet_framework, read_config

__all__ = ["effective_config", "source_defaults"]


def source_defaults(model_dir: Path) -> SourceDefaults:
    """Every field of the effective configuration as the source uses it; floats as float32.

    Beyond the fields of `EffectiveConfig` it holds `rope_type`, `rope_attention_scaling`, and the
    special ids of `generation_config.json` as `generation.<key>` where the file has them.

    Raises:
        OracleMissingError: torch or transformers is not installed.
        OracleModelError: the directory declares no model of a known family that the source
            accepts, or one whose behaviour no effective configuration can say.
        CaptureError: the source is not the one this was written for.
    """
    with quiet_framework() as transformers:
        config = read_config(model_dir, transformers)
        source = Source(model_dir, config, _empty_model(model_dir, transformers, config))
        rows = [
            *shape_rows(source),
            *position_rows(source),
            *block_rows(source),
            *attention_rows(source),
            *token_rows(source),
            *generation_rows(model_dir, transformers),
        ]
    return SourceDefaults(framework(), tuple(SourceDefault(*row) for row in rows))


def effective_config(found: SourceDefaults) -> EffectiveConfig:
    """The effective configuration that the source's values make.

    Raises:
        RecordError: values that contradict each other.
    """
    return EffectiveConfig.from_map({f.name: found[f.name] for f in fields(EffectiveConfig)})


def _empty_model(model_dir: Path, transformers: Any, config: Any) -> Any:
    import torch

    where = str(model_dir / "config.json")
    reason = refused(config)
    if reason:
        raise OracleModelError(where=where, detail=reason)
    try:
        with torch.device("meta"):
            return getattr(transformers, FAMILIES[config.model_type].model_class)(config)
    except Exception as error:
        raise OracleModelError(where=where, detail=one_line(error)) from error
