"""A GGUF file written out as a snapshot in Hugging Face layout.

The framework's own saving is not used: it refuses models that were loaded from GGUF. Every file and
tensor is written here and its origin recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trlm_lab.acquire.approval import Approve, approve_all
from trlm_lab.acquire.gguf_architecture import architecture_of
from trlm_lab.acquire.gguf_config import ConvertedConfig, converted_config
from trlm_lab.acquire.gguf_file import GgufFile, GgufTensor, read_gguf
from trlm_lab.acquire.gguf_shapes import require_shapes
from trlm_lab.acquire.gguf_tensors import HeadShape, TensorOrigin, planned_tensors
from trlm_lab.acquire.gguf_tokenizer import ConvertedTokenizer, converted_tokenizer
from trlm_lab.acquire.progress import Progress, silent
from trlm_lab.acquire.safetensors_writer import PlannedTensor, write_safetensors
from trlm_lab.acquire.snapshot_store import PROVENANCE
from trlm_lab.base import canon, strict_json
from trlm_lab.base.records import SourceFile
from trlm_lab.errors import GgufTensorError, Refused

#: Part of every cache key; raised whenever the same source would give other bytes.
CONVERTER_VERSION = 4

_FLOAT_TYPES = {"F32", "F16", "BF16"}
#: Longer arrays of the source are recorded by length and content id.
_LONGEST_RECORDED_ARRAY = 64


@dataclass(frozen=True)
class Converted:
    """The parts of a conversion before anything is written."""

    file: GgufFile
    config: ConvertedConfig
    tokenizer: ConvertedTokenizer | None


def check_gguf(path: Path) -> list[dict[str, str]]:
    """Findings in the form that `trlm check` prints; none for a file that can be converted.

    The weights are not read; a non-finite one is found by the conversion.
    """
    try:
        _planned(_parts(path))
    except Refused as error:
        return [error.as_finding()]
    return []


def gguf_documents(path: Path) -> dict[str, bytes]:
    """What the snapshot that a GGUF file would become declares: files by name, and its own keys.

    Raises:
        Refused: the file cannot be converted; the class names the rule.
    """
    parts = _parts(path)
    return {**_documents(parts), PROVENANCE: canon.encode({"gguf": _keys(parts)})}


def _parts(gguf: Path) -> Converted:
    file = read_gguf(gguf)
    config = converted_config(file)
    context: int = config.values["max_position_embeddings"]
    return Converted(file, config, converted_tokenizer(file, context))


def convert_gguf(
    gguf: Path,
    materials: list[SourceFile],
    out: Path,
    progress: Progress = silent,
    approve: Approve = approve_all,
) -> dict[str, Any]:
    """Write a snapshot of `gguf` into the empty directory `out` and return its provenance.

    `materials` are the files that were received, the GGUF among them.

    Raises:
        GgufError, GgufArchitectureError, GgufFieldError, GgufTensorError, GgufTokenizerError,
        GgufPreTokenizerError: the file cannot be converted.
        NonFiniteError: a weight is NaN or infinite.
    """
    parts = _parts(gguf)
    planned, origins = _planned(parts)
    texts = _documents(parts)
    for name, data in texts.items():
        (out / name).write_bytes(data)
    # The keys are declarations, too. The whole record takes the place of this one.
    (out / PROVENANCE).write_bytes(canon.encode({"gguf": _keys(parts)}))
    approve(out, None)
    digests = write_safetensors(out / "model.safetensors", planned, progress)
    return _provenance(parts, materials, origins, digests, sorted(texts))


def _planned(parts: Converted) -> tuple[dict[str, PlannedTensor], dict[str, TensorOrigin]]:
    values = parts.config.values
    layers: int = values["num_hidden_layers"]
    require_shapes(parts.file, values, parts.config.origins)
    heads = HeadShape(
        values["num_attention_heads"], values["num_key_value_heads"], values["head_dim"]
    )
    kind = architecture_of(parts.file)
    planned, origins = planned_tensors(parts.file, kind, layers, heads)
    wanted = kind.tensors(layers, values["tie_word_embeddings"])
    if len(planned) != wanted:
        # Names are unique and each is one of the model's, so the count tells whether one is absent.
        detail = f"{len(planned)} tensors, a {kind.name} of {layers} layers has {wanted}"
        raise GgufTensorError(where=parts.file.path.name, detail=detail)
    return planned, origins


def _documents(parts: Converted) -> dict[str, bytes]:
    """The JSON and text files of the snapshot, by name."""
    config = dict(parts.config.values)
    generation: dict[str, Any] = {}
    documents: dict[str, bytes] = {}
    if parts.tokenizer is not None:
        for role in ("bos", "eos", "pad"):
            number = parts.tokenizer.special_ids.get(f"{role}_token")
            if number is not None:
                config[f"{role}_token_id"] = generation[f"{role}_token_id"] = number
        documents["tokenizer.json"] = strict_json.pretty(parts.tokenizer.tokenizer)
        documents["tokenizer_config.json"] = strict_json.pretty(parts.tokenizer.tokenizer_config)
        if parts.tokenizer.chat_template is not None:
            documents["chat_template.jinja"] = parts.tokenizer.chat_template.encode()
    documents["config.json"] = strict_json.pretty(config)
    documents["generation_config.json"] = strict_json.pretty(generation)
    return documents


def _provenance(
    parts: Converted,
    materials: list[SourceFile],
    origins: dict[str, TensorOrigin],
    digests: dict[str, str],
    documents: list[str],
) -> dict[str, Any]:
    types = sorted({tensor.type_name for tensor in parts.file.tensors.values()})
    return {
        "schema": "trlm.provenance.v1",
        "converter": {"name": "trlm_lab.acquire.gguf", "version": CONVERTER_VERSION},
        "materials": [material_row(m) for m in materials],
        "documents": {name: _document_origin(name, parts) for name in documents},
        "gguf": _keys(parts),
        "tensors": [
            _tensor_row(name, parts.file, origins[name], digests[name]) for name in sorted(digests)
        ],
        **quantized_grid([t for t in types if t not in _FLOAT_TYPES]),
    }


def _keys(parts: Converted) -> dict[str, Any]:
    fields = {key: _recorded(f.kind, f.value) for key, f in parts.file.fields.items()}
    return {"version": parts.file.version, "fields": fields}


def material_row(file: SourceFile) -> dict[str, Any]:
    """A received file, as provenance records it."""
    return {"name": file.path.rsplit(b"/", 1)[-1], "size": file.size, "sha256": file.sha256}


def quantized_grid(types: list[str]) -> dict[str, Any]:
    """What reports must show beside any quantization error: a sentence, empty for float sources."""
    sentence = (
        f"These weights were dequantized from {', '.join(types)} and lie on that grid. "
        "Storing them in it again loses nothing, so a quantization error measured on them "
        "says little about what quantization costs a float model."
    )
    return {"weights_on_quantized_grid": sentence if types else "", "grid_types": types}


def _document_origin(name: str, parts: Converted) -> dict[str, Any]:
    if name == "config.json":
        special = {
            f"{role}_id": f"tokenizer.ggml {role}"
            for role in ("bos_token", "eos_token", "pad_token")
            if parts.tokenizer is not None and role in parts.tokenizer.special_ids
        }
        return {"keys": {**parts.config.origins, **special}}
    sources = {
        "generation_config.json": "the special ids of tokenizer.ggml.*",
        "tokenizer.json": "tokenizer.ggml.tokens, token_type, merges, pre",
        "tokenizer_config.json": "tokenizer.ggml.* special ids and flags",
        "chat_template.jinja": "tokenizer.chat_template, its bytes unchanged",
    }
    return {"from": sources[name]}


def _recorded(kind: str, value: Any) -> dict[str, Any]:
    if isinstance(value, list) and len(value) > _LONGEST_RECORDED_ARRAY:
        return {"kind": kind, "count": len(value), "content_id": canon.content_id(value)}
    return {"kind": kind, "value": value}


def _tensor_row(name: str, file: GgufFile, origin: TensorOrigin, digest: str) -> dict[str, Any]:
    source: GgufTensor = origin.source
    return {
        "name": name,
        "sha256": digest,
        "shape": list(source.shape),
        "source_name": source.name,
        "source_type": source.type_name,
        "source_range": [source.begin, source.end],
        "source_sha256": file.stored_sha256(source.name),
        "transforms": [[kind, parameters] for kind, parameters in origin.transforms],
    }
