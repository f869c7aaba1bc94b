"""Load a model directory with the source framework: quietly, offline, whole or not at all."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trlm_lab.base import strict_json
from trlm_lab.errors import OracleMissingError, OracleModelError, TrlmError
from trlm_lab.oracle.environment import package_version
from trlm_lab.oracle.families import FAMILIES
from trlm_lab.oracle.waiting import wait_passively

#: More layers than any published model; the source would try to build whatever a file asks for.
MAX_LAYERS = 1024
#: Characters kept of a foreign error.
MAX_TEXT = 400


@contextmanager
def quiet_framework() -> Iterator[Any]:
    """The transformers package, without warnings and progress bars; its state is restored."""
    for name in ("torch", "transformers"):
        package_version(name)
    wait_passively()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import transformers
        except ImportError as error:
            raise OracleMissingError(where="transformers", detail=str(error)) from error
        logging = transformers.utils.logging
        verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        try:
            yield transformers
        finally:
            logging.set_verbosity(verbosity)
            if bars:
                logging.enable_progress_bar()


def read_config(model_dir: Path, transformers: Any) -> Any:
    """The live configuration object of a directory of a known family.

    Raises:
        OracleModelError: no such file, another family, or values that the source refuses.
    """
    path = model_dir / "config.json"
    try:
        declared = strict_json.load_object(path)
    except TrlmError as error:
        raise OracleModelError(where=str(path), detail=error.detail) from error
    declared_type = declared.get("model_type")
    if declared_type not in FAMILIES:
        detail = f"model_type is {declared_type!r}, this oracle captures {', '.join(FAMILIES)}"
        raise OracleModelError(where=str(path), detail=detail)
    try:
        config_class = getattr(transformers, FAMILIES[declared_type].config_class)
        config = config_class.from_pretrained(model_dir, local_files_only=True)
    except Exception as error:
        # The configuration class validates with errors of several libraries.
        raise OracleModelError(where=str(path), detail=one_line(error)) from error
    if not 0 < config.num_hidden_layers <= MAX_LAYERS:
        detail = f"num_hidden_layers is {config.num_hidden_layers}, not 1 to {MAX_LAYERS}"
        raise OracleModelError(where=str(path), detail=detail)
    return config


def load_model(model_dir: Path, dtype: str = "float32", attention: str = "eager") -> Any:
    """The model in a dtype of torch with one of the source's attentions, in evaluation mode.

    Raises:
        OracleMissingError: torch or transformers is not installed.
        OracleModelError: a file, a tensor or a value is missing, foreign or refused.
    """
    with quiet_framework() as transformers:
        import torch

        config = read_config(model_dir, transformers)
        try:
            model_class = getattr(transformers, FAMILIES[config.model_type].model_class)
            model, info = model_class.from_pretrained(
                model_dir,
                config=config,
                dtype=getattr(torch, dtype),
                attn_implementation=attention,
                local_files_only=True,
                use_safetensors=True,
                output_loading_info=True,
            )
        except Exception as error:
            # Safetensors, the hub client and torch each have errors of their own here.
            raise OracleModelError(where=str(model_dir), detail=one_line(error)) from error
    for problem, names in info.items():
        if names:
            detail = f"{problem.replace('_', ' ')}: {', '.join(sorted(map(str, names))[:4])}"
            raise OracleModelError(where=str(model_dir), detail=detail)
    return model.eval()


def one_line(error: Exception) -> str:
    """The text of a foreign error, joined and cut to a readable length."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text[:MAX_TEXT].rstrip(".")
