"""Open what a reference session runs: an `.slm` artifact or a model directory."""

from __future__ import annotations

import mmap
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from trlm_lab.backends.model_config import config_of_model_dir
from trlm_lab.backends.safetensors_weights import model_dir_tensors
from trlm_lab.backends.slm_weights import slm_tensors
from trlm_lab.backends.weights import EMBEDDING, FINAL_NORM, HEAD, LAYER_TENSORS, tensor_name
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.plain_file import open_plain
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.errors import ModelFilesError, RecordError, UnsupportedModelError
from trlm_lab.ops.matmul import RowBlocks
from trlm_lab.slm.read import SlmFile, open_slm
from trlm_lab.slm.verify import verify_self

#: Files admitted by this process, by identity and time of change: hashing half a gigabyte for every
#: session on the same file would cost more than the run.
_ADMITTED: set[tuple[int, int, int, int]] = set()


@dataclass(frozen=True)
class OpenModel:
    """A configuration and the tensors that it needs, by Hugging Face name; shapes are checked."""

    config: EffectiveConfig
    tensors: dict[str, RowBlocks]

    def __post_init__(self) -> None:
        c = self.config
        if c.hidden_act != "silu" or c.attention_bias or c.mlp_bias:
            detail = f"hidden_act {c.hidden_act!r} or biases"
            raise UnsupportedModelError(where="config", detail=detail)
        for name, shape in expected_shapes(c).items():
            tensor = self.tensors.get(name)
            if tensor is None or tuple(tensor.shape) != shape:
                got = "missing" if tensor is None else f"of shape {tuple(tensor.shape)}"
                detail = f"the tensor {name!r} is {got}, needed is {shape}"
                raise ModelFilesError(where=name, detail=detail)


def expected_shapes(config: EffectiveConfig) -> dict[str, tuple[int, ...]]:
    """Shape of every tensor of the model, by Hugging Face name."""
    c = config
    hidden, ffn = c.hidden_size, c.intermediate_size
    queries, keys = c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim
    layer: dict[str, tuple[int, ...]] = {
        "attn_norm": (hidden,),
        "q_proj": (queries, hidden),
        "k_proj": (keys, hidden),
        "v_proj": (keys, hidden),
        "o_proj": (hidden, queries),
        "mlp_norm": (hidden,),
        "gate_proj": (ffn, hidden),
        "up_proj": (ffn, hidden),
        "down_proj": (hidden, ffn),
    }
    table = (c.vocab_size, hidden)
    shapes = {EMBEDDING: table, FINAL_NORM: (hidden,), HEAD: table}
    for i in range(c.num_hidden_layers):
        shapes |= {tensor_name(op, i): layer[op] for op in LAYER_TENSORS}
    return shapes


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
    """Map an `.slm`, check its structure and its self hash."""
    slm = open_slm(mapped(path), where=str(path))
    _admit(path, slm)
    try:
        config = EffectiveConfig.from_map(slm.config)
        finite = bool(np.isfinite(config.inv_freq).all())
    except (RecordError, TypeError, ValueError) as error:
        raise ModelFilesError(where=f"{path}: configuration", detail=str(error)) from error
    if not finite:
        detail = "rope_inv_freq holds a value that is not finite"
        raise ModelFilesError(where=f"{path}: configuration", detail=detail)
    if config.rope_order not in ("half_split", "interleaved"):
        detail = f"rope_order is {config.rope_order!r}"
        raise UnsupportedModelError(where=str(path), detail=detail)
    return _opened(config, slm_tensors(slm))


def open_model_dir(root: Path, config: EffectiveConfig | None = None) -> OpenModel:
    """Map a model directory's safetensors; its `config.json` is read unless a config is given."""
    tensors = model_dir_tensors(root)
    config = config_of_model_dir(root) if config is None else config
    if config.tie_word_embeddings:
        # The source's loader ties them whatever the file holds.
        tensors.pop(HEAD, None)
    return _opened(replace(config, rope_order="half_split"), tensors)


def _opened(config: EffectiveConfig, tensors: dict[str, RowBlocks]) -> OpenModel:
    if config.tie_word_embeddings and HEAD not in tensors and EMBEDDING in tensors:
        tensors = {**tensors, HEAD: tensors[EMBEDDING]}
    return OpenModel(config, tensors)


def _admit(path: Path, slm: SlmFile) -> None:
    stat = path.stat()
    key = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)
    if key not in _ADMITTED:
        verify_self(slm)
        _ADMITTED.add(key)
