"""Open what a reference session runs: an `.slm` artifact or a model directory."""

from __future__ import annotations

import mmap
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from trlm_lab.backends.model_config import config_of_model_dir
from trlm_lab.backends.safetensors_weights import model_dir_tensors
from trlm_lab.backends.slm1_weights import slm1_tensors
from trlm_lab.backends.slm_weights import slm_tensors
from trlm_lab.backends.source_weights import model_weights
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.model_parts import EMBEDDING, HEAD, model_tensors
from trlm_lab.base.plain_file import open_plain
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.errors import ModelFilesError, RecordError
from trlm_lab.ops.matmul import RowBlocks
from trlm_lab.slm.read import SlmFile, open_slm
from trlm_lab.slm.verify import verify_self
from trlm_lab.slm1.config import effective_config
from trlm_lab.slm1.layout import MAGIC as SLM1
from trlm_lab.slm1.read import open_slm1
from trlm_lab.slm1.verify import verify_all
from trlm_lab.text.slm1 import special_ids

#: Files admitted by this process, by identity and time of change: hashing half a gigabyte for every
#: session on the same file would cost more than the run.
_ADMITTED: set[tuple[int, int, int, int]] = set()


@dataclass(frozen=True)
class OpenModel:
    """A configuration and the tensors that it needs, by Hugging Face name; shapes are checked."""

    config: EffectiveConfig
    tensors: dict[str, RowBlocks]

    def __post_init__(self) -> None:
        for tensor in model_tensors(self.config):
            found = self.tensors.get(tensor.name)
            if found is None or tuple(found.shape) != tensor.shape:
                got = "missing" if found is None else f"of shape {tuple(found.shape)}"
                detail = f"the tensor {tensor.name!r} is {got}, needed is {tensor.shape}"
                raise ModelFilesError(where=tensor.name, detail=detail)


def open_subject(subject: Subject, config: EffectiveConfig | None = None) -> OpenModel:
    """Open the artifact, or the directory where there is none; `config` overrides a directory's.

    Raises:
        Refused: the files are unsound, or hold a model that the engine cannot run.
    """
    if subject.artifact is not None:
        return open_artifact(subject.artifact)
    if subject.model_dir is not None:
        return open_model_dir(subject.model_dir, config)
    raise ModelFilesError(where="subject", detail="neither an artifact nor a model directory")


def mapped(path: Path) -> memoryview:
    """The file's bytes, mapped; they stay mapped as long as something looks at them.

    Raises:
        ModelFilesError: the file is missing or empty.
    """
    try:
        with open_plain(path) as stream:
            return memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:
        raise ModelFilesError(where=str(path), detail=f"cannot be mapped: {error}") from error


def open_artifact(path: Path) -> OpenModel:
    """Map an `.slm`, check its structure and its self hash, of SLM1 its checksum."""
    view = mapped(path)
    if bytes(view[:4]) == SLM1:
        return _open_slm1(path, view)
    slm = open_slm(view, where=str(path))
    _admit(path, slm)
    try:
        config = EffectiveConfig.from_map(slm.config)
        finite = bool(np.isfinite(config.inv_freq).all())
    except (RecordError, TypeError, ValueError) as error:
        raise ModelFilesError(where=f"{path}: configuration", detail=str(error)) from error
    if not finite:
        detail = "rope_inv_freq holds a value that is not finite"
        raise ModelFilesError(where=f"{path}: configuration", detail=detail)
    tensors = slm_tensors(slm)
    if config.tie_word_embeddings and EMBEDDING in tensors:
        tensors.setdefault(HEAD, tensors[EMBEDDING])
    return OpenModel(config, tensors)


def _open_slm1(path: Path, view: memoryview) -> OpenModel:
    """An SLM1 file is checked whole each time: its checksum is quick."""
    slm1 = open_slm1(view, special_ids, where=str(path))
    verify_all(slm1)
    return OpenModel(effective_config(slm1), slm1_tensors(slm1))


def open_model_dir(root: Path, config: EffectiveConfig | None = None) -> OpenModel:
    """Map a model directory's safetensors; its `config.json` is read unless a config is given."""
    stored = model_dir_tensors(root)
    config = config_of_model_dir(root) if config is None else config
    if config.rope_order != "none":
        # However an artifact was packed, the source itself stores halves.
        config = replace(config, rope_order="half_split")
    return OpenModel(config, model_weights(config, stored, str(root)))


def _admit(path: Path, slm: SlmFile) -> None:
    stat = path.stat()
    key = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)
    if key not in _ADMITTED:
        verify_self(slm)
        _ADMITTED.add(key)
