"""Special ids, of the configuration and of the generation settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trlm_lab.errors import OracleModelError
from trlm_lab.oracle.defaults.source import Row, Source
from trlm_lab.oracle.loading import one_line


def token_rows(source: Source) -> Iterator[Row]:
    """The ids of the configuration; `eos_token_id` as a list."""
    config = source.config
    for name in ("bos_token_id", "pad_token_id"):
        yield name, getattr(config, name), source.origin(name, type(config), f"{name}:")
    origin = source.origin("eos_token_id", type(config), "eos_token_id:")
    yield "eos_token_id", _ids(config.eos_token_id), origin
    given = source.declared.get("unk_token_id")
    origin = "config.json" if given is not None else "no field of the source's configuration"
    yield "unk_token_id", given, origin


def generation_rows(model_dir: Path, transformers: Any) -> Iterator[Row]:
    """The ids of `generation_config.json`, where there is one. Raises OracleModelError."""
    path = model_dir / "generation_config.json"
    if not path.is_file():
        return
    try:
        config = transformers.GenerationConfig.from_pretrained(model_dir, local_files_only=True)
    except Exception as error:
        raise OracleModelError(where=str(path), detail=one_line(error)) from error
    for key in ("bos_token_id", "eos_token_id", "pad_token_id"):
        value = getattr(config, key)
        yield f"generation.{key}", _ids(value) if key[0] == "e" else value, path.name


def _ids(value: Any) -> list[int]:
    """A token id, several or none, as a list."""
    return [] if value is None else list(value) if isinstance(value, list) else [value]
