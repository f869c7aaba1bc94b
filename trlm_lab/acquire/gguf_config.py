"""The keys of a GGUF file as a Hugging Face `config.json`; a closed table by architecture.

A key that could change behaviour and is not in the table is refused by name. Values that the file
leaves to its architecture (the activation, absent biases, the sliding layers) are written out with
that origin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trlm_lab.acquire.gguf_architecture import GgufArchitecture, architecture_of
from trlm_lab.acquire.gguf_file import GgufFile
from trlm_lab.base.config_bounds import CONFIG_BOUNDS
from trlm_lab.errors import GgufFieldError

#: Read below, and checked against the others.
_CHECKED = {
    "attention.layer_norm_rms_epsilon", "attention.key_length", "attention.value_length",
    "rope.dimension_count", "rope.freq_base", "rope.scaling.type",
}  # fmt: skip
#: Both give the width of a head. The rotated share is no such key: it can only equal the width.
_WIDTHS = ("attention.key_length", "attention.value_length")
_ROTATED = "rope.dimension_count"
#: The runtime's own value where an old file does not give the key.
_ABSENT_ROPE_BASE = 10000.0


@dataclass(frozen=True)
class ConvertedConfig:
    """`config.json` as a map, and the origin of each of its keys."""

    values: dict[str, Any]
    origins: dict[str, str]


def converted_config(file: GgufFile) -> ConvertedConfig:
    """The configuration of a file of a known architecture.

    Raises:
        GgufArchitectureError: another architecture, or none.
        GgufFieldError: a key is missing, unknown, ill-typed or contradicts another.
    """
    kind = architecture_of(file)
    _require_known(file, kind)
    values: dict[str, Any] = {"architectures": [kind.model_class], "model_type": kind.model_type}
    origins = dict.fromkeys(values, "general.architecture")
    for key, target in kind.sizes.items():
        values[target], origins[target] = _size(file, kind, key)
    _add_floats(file, kind, values, origins)
    _require_groups(file, kind, values)
    _add_head_dim(file, kind, values, origins)
    _add_implied(file, kind, values, origins)
    return ConvertedConfig(values, origins)


def _require_known(file: GgufFile, kind: GgufArchitecture) -> None:
    for key in file.fields:
        if key.startswith(kind.prefix):
            rest = key.removeprefix(kind.prefix)
            if rest not in kind.sizes and rest not in _CHECKED:
                detail = "the key may change behaviour and is not known here"
                raise GgufFieldError(where=file.path.name, key=key, detail=detail)
        elif not key.startswith(("general.", "tokenizer.")):
            detail = "the key belongs to no known namespace"
            raise GgufFieldError(where=file.path.name, key=key, detail=detail)
    full = f"{kind.prefix}rope.scaling.type"
    scaling = file.fields.get(full)
    if scaling is not None and scaling.value != "none":
        detail = f"RoPE scaling {scaling.value!r} is not supported"
        raise GgufFieldError(where=file.path.name, key=full, detail=detail)


def _size(file: GgufFile, kind: GgufArchitecture, key: str) -> tuple[int, str]:
    full = f"{kind.prefix}{key}"
    if full not in file.fields:
        if key == "attention.head_count_kv":
            return _size(file, kind, "attention.head_count")
        if key == "vocab_size" and "tokenizer.ggml.tokens" in file.fields:
            tokens = file.fields["tokenizer.ggml.tokens"].value
            if isinstance(tokens, list) and tokens:
                return len(tokens), "length of the token list"
        raise GgufFieldError(where=file.path.name, key=full, detail="the key is missing")
    value = file.fields[full].value
    problem = CONFIG_BOUNDS[kind.sizes[key]].problem(value)
    if problem:
        raise GgufFieldError(where=file.path.name, key=full, detail=problem)
    return value, full


def _add_floats(
    file: GgufFile, kind: GgufArchitecture, values: dict[str, Any], origins: dict[str, str]
) -> None:
    # Gemma 3 has two bases; a file that leaves out the one it states would be a guess.
    base = None if kind.layer_period else _ABSENT_ROPE_BASE
    for name, target, absent in (
        ("attention.layer_norm_rms_epsilon", "rms_norm_eps", None),
        ("rope.freq_base", "rope_theta", base),
    ):
        key = kind.prefix + name
        field = file.fields.get(key)
        if field is None and absent is None:
            raise GgufFieldError(where=file.path.name, key=key, detail="the key is missing")
        value = absent if field is None else field.value
        problem = CONFIG_BOUNDS[target].problem(value)
        if problem or not isinstance(value, float):
            detail = problem or f"{value!r} is no float"
            raise GgufFieldError(where=file.path.name, key=key, detail=detail)
        values[target] = value
        origins[target] = key if field is not None else f"{key} is absent, the runtime's own value"


def _add_head_dim(
    file: GgufFile, kind: GgufArchitecture, values: dict[str, Any], origins: dict[str, str]
) -> None:
    """The width of a head: stated, or the share of one head in the width of the model."""
    value, place = _stated_width(file, kind)
    if not place:
        value, place = _shared_width(file, kind, values), "hidden_size / num_attention_heads"
    problem = CONFIG_BOUNDS["head_dim"].problem(value)
    if not problem and value % 2:
        problem = f"{value} is odd, RoPE rotates pairs of coordinates"
    if problem:
        key = place if place in file.fields else f"{kind.prefix}embedding_length"
        raise GgufFieldError(where=file.path.name, key=key, detail=f"head dimension: {problem}")
    full = kind.prefix + _ROTATED
    rotated = file.fields.get(full)
    if rotated is not None and (rotated.value != value or isinstance(rotated.value, bool)):
        detail = f"{rotated.value} of {value} coordinates ({place}); only whole heads are rotated"
        raise GgufFieldError(where=file.path.name, key=full, detail=detail)
    values["head_dim"], origins["head_dim"] = value, place


def _stated_width(file: GgufFile, kind: GgufArchitecture) -> tuple[Any, str]:
    """What keys and values say about it, with the key; nothing, where neither is given."""
    keys = [kind.prefix + name for name in _WIDTHS]
    stated = [(file.fields[key].value, key) for key in keys if key in file.fields]
    for value, key in stated[1:]:
        if value != stated[0][0]:
            detail = f"{value} beside {stated[0][0]} in {stated[0][1]}"
            raise GgufFieldError(where=file.path.name, key=key, detail=detail)
    return stated[0] if stated else (None, "")


def _shared_width(file: GgufFile, kind: GgufArchitecture, values: dict[str, Any]) -> int:
    heads, hidden = values["num_attention_heads"], values["hidden_size"]
    if hidden % heads:
        key = f"{kind.prefix}attention.head_count"
        detail = f"{heads} heads do not divide the width {hidden}, and no key gives that of a head"
        raise GgufFieldError(where=file.path.name, key=key, detail=detail)
    return int(hidden // heads)


def _require_groups(file: GgufFile, kind: GgufArchitecture, values: dict[str, Any]) -> None:
    heads, groups = values["num_attention_heads"], values["num_key_value_heads"]
    if heads % groups:
        key = f"{kind.prefix}attention.head_count_kv"
        detail = f"{groups} key/value heads do not divide {heads} query heads"
        raise GgufFieldError(where=file.path.name, key=key, detail=detail)


def _add_implied(
    file: GgufFile, kind: GgufArchitecture, values: dict[str, Any], origins: dict[str, str]
) -> None:
    """What the architecture settles, written out."""
    implied = dict(kind.implied)
    if kind.layer_period:
        layers = range(1, values["num_hidden_layers"] + 1)
        types = ["sliding_attention" if n % kind.layer_period else "full_attention" for n in layers]
        implied["layer_types"] = types
    if kind.head_scale:
        implied["query_pre_attn_scalar"] = values["head_dim"]
    values.update(implied)
    origins.update(dict.fromkeys(implied, f"the {kind.name} architecture of the file format"))
    values["tie_word_embeddings"] = "output.weight" not in file.tensors
    origins["tie_word_embeddings"] = "whether output.weight is absent"
    values["dtype"], origins["dtype"] = "float32", "tensors are dequantized to float32"
