"""Small sound SLM2 and SLM1 files of every storage form: what tests and fuzzing damage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.model_parts import EMBEDDING, HEAD, ModelTensor, model_tensors
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.quant import GROUPED, block_format
from trlm_lab.quant.sparse import Sparse, encode_sparse
from trlm_lab.slm.numbers import DType, Role, ScaleEncoding
from trlm_lab.slm.plan import TensorSpec
from trlm_lab.slm.residuals import SUFFIX, residual_header
from trlm_lab.slm.write import Payload, assemble
from trlm_lab.slm1.codecs import DType as Slm1DType
from trlm_lab.slm1.header import Header as Slm1Header
from trlm_lab.slm1.header import bits_of_float
from trlm_lab.slm1.names import NamedTensor
from trlm_lab.slm1.write import assemble as assemble_slm1
from trlm_lab.text import read_tokenizer
from trlm_lab.text.slm1 import Bpe1, Btok, Specials, write_bpe1, write_btok
from trlm_lab.text.tok2 import write_tok2

F32 = NDArray[np.float32]

_LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "layer_norm_epsilon": None,
    "norm_unit_offset": False,
    "norm_placement": "pre",
    "qk_norm": "none",
    "rope_order": "half_split",
    "rope_attention_factor": 1.0,
    "rope_local_base_freq": None,
    "rope_local_inv_freq": (),
    "attn_logit_softcapping": None,
    "final_logit_softcapping": None,
    "sliding_window": None,
    "layer_types": ("full_attention",),
    "hidden_act": "silu",
    "mlp_gated": True,
    "embedding_scale": 1.0,
    "attention_bias": False,
    "attention_out_bias": False,
    "mlp_bias": False,
    "vocab_size": 6,
    "hidden_size": 8,
    "intermediate_size": 12,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 4,
    "max_position_embeddings": 16,
    "rms_norm_eps": float(np.float32(1e-5)),
    "rope_theta": 10000.0,
    "rope_inv_freq": (1.0, float(np.float32(0.01))),
    "attention_scale": 0.5,
    "tie_word_embeddings": True,
    "bos_token_id": 1,
    "eos_token_id": (2,),
    "pad_token_id": None,
    "unk_token_id": None,
}
#: A decoder with biases, a norm of queries and keys, norms on both sides and sliding layers.
_RICH: dict[str, Any] = {
    "norm_placement": "sandwich",
    "norm_unit_offset": True,
    "qk_norm": "head",
    "rope_local_base_freq": 1000.0,
    "rope_local_inv_freq": (1.0, 0.125),
    "attn_logit_softcapping": 50.0,
    "sliding_window": 4,
    "layer_types": ("full_attention", "sliding_attention"),
    "num_hidden_layers": 2,
    "hidden_act": "gelu_tanh",
    "attention_bias": True,
    "mlp_bias": True,
    "tie_word_embeddings": False,
}
#: Learned positions, LayerNorms, an MLP without a gate.
_LEARNED: dict[str, Any] = {
    "rms_norm_eps": None,
    "layer_norm_epsilon": float(np.float32(1e-5)),
    "rope_order": "none",
    "rope_theta": 0.0,
    "rope_inv_freq": (),
    "mlp_gated": False,
    "hidden_act": "gelu_erf",
    "attention_bias": True,
    "attention_out_bias": True,
    "mlp_bias": True,
}


def plain_config(**changes: Any) -> EffectiveConfig:
    """A small llama of one layer, with other values of some fields."""
    return EffectiveConfig(**(_LLAMA | changes))


@dataclass(frozen=True)
class Recipe:
    """How a sound SLM2 file is made; `residual` gives the query matrices one of these values."""

    dtype: DType
    scales: ScaleEncoding = ScaleEncoding.none
    residual: DType | None = None
    changes: tuple[tuple[str, Any], ...] = ()
    compiled: bool = False

    def build(self) -> bytes:
        """The file."""
        config = plain_config(**dict(self.changes))
        specs: list[TensorSpec] = []
        payloads: dict[str, Payload] = {}
        for tensor in model_tensors(config):
            for spec, planes in self._stored(tensor, config.tie_word_embeddings):
                specs.append(spec)
                if planes is not None:
                    payloads[spec.name] = planes
        return assemble(specs, config.to_map(), payloads, _tok2() if self.compiled else b"tokens")

    def _stored(
        self, tensor: ModelTensor, tied: bool
    ) -> Iterator[tuple[TensorSpec, Payload | None]]:
        """A tensor's own row, and that of its residual."""
        matrix, role = len(tensor.shape) == 2, Role[tensor.role]
        dtype = self.dtype if matrix else DType.f32
        if tied and tensor.name == HEAD:
            yield TensorSpec(tensor.name, role, dtype, tensor.shape, EMBEDDING), None
            return
        scales = self.scales if dtype.name in GROUPED else ScaleEncoding.none
        values = _values(tensor.name, tensor.shape)
        planes = (values.tobytes(), b"")
        if dtype != DType.f32:
            planes = block_format(dtype.name, scales.name).quantize(values)
        yield TensorSpec(tensor.name, role, dtype, tensor.shape, scales=scales), planes
        if self.residual is not None and matrix and tensor.role == "q_proj":
            yield _residual(tensor, self.residual)


def _residual(tensor: ModelTensor, dtype: DType) -> tuple[TensorSpec, Payload]:
    """Two entries in the first row, none in the second, one in every other."""
    rows, cols = tensor.shape
    pointers = np.array([0, 2, 2, *range(3, rows + 1)], np.int64)
    columns = np.array([1, cols - 1, *(r % cols for r in range(2, rows))], np.int64)
    sparse = Sparse(
        rows, cols, pointers, columns, np.linspace(-2, 3, len(columns), dtype=np.float32)
    )
    data, scales = encode_sparse(sparse, dtype.name)
    spec = TensorSpec(
        tensor.name + SUFFIX, Role[tensor.role], dtype, tensor.shape, tensor.name, nnz=len(columns)
    )
    return spec, (residual_header(tensor.shape, dtype, len(columns)) + data, scales)


def _values(name: str, shape: tuple[int, ...]) -> F32:
    """Seeded values by name; vectors near 1."""
    seed = sum(name.encode()) + 1000 * len(name)
    found = np.random.default_rng(seed).random(shape, np.float32) - np.float32(0.5)
    return found + np.float32(len(shape) == 1)


@cache
def _tok2() -> bytes:
    """A compiled tokenizer of three letters and a merge."""
    model = {
        "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
        "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
        "ignore_merges": False, "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3}, "merges": ["a b"],
    }  # fmt: skip
    document: dict[str, Any] = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
        "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None,
        "model": model,
    }  # fmt: skip
    return write_tok2(read_tokenizer(document), roles=[], template=b"")


def _recipes() -> dict[str, Recipe]:
    grouped = [DType.q8_r128, DType.q6_g64, DType.q5_g64, DType.q4_g64]
    encodings = [ScaleEncoding.fp16, ScaleEncoding.bf16, ScaleEncoding.e8m0]
    rows = {f"{d.name}-{s.name}": Recipe(d, s) for d in grouped for s in encodings}
    rows |= {d.name: Recipe(d) for d in (DType.f32, DType.f16, DType.bf16)}
    half = ScaleEncoding.fp16
    return rows | {
        "residual-f16": Recipe(DType.q4_g64, half, DType.f16),
        "residual-q8": Recipe(DType.q5_g64, ScaleEncoding.e8m0, DType.q8_r128),
        "rich": Recipe(DType.q6_g64, half, DType.f16, tuple(_RICH.items())),
        "learned": Recipe(DType.q8_r128, half, None, tuple(_LEARNED.items())),
        "compiled": Recipe(DType.q4_g64, half, compiled=True),
        "wide": Recipe(DType.q8_r128, half, None, (("vocab_size", 17000),)),
    }


RECIPES = _recipes()
#: What takes more than one piece of 1 MiB; the others are of some 10 KB.
LARGE = ("wide",)


@cache
def slm2_file(name: str) -> bytes:
    """A sound SLM2 file."""
    return RECIPES[name].build()


_SLM1_SHAPE = Slm1Header(
    flags=0, vocab=260, hidden=6, layers=1, heads=4, kv_heads=2, head_dim=2, ffn=10,
    max_context=16, rope_theta_bits=bits_of_float(1e4), rms_eps_bits=bits_of_float(1e-5),
    tokenizer_offset=0, tokenizer_length=0, tensor_directory_offset=0, tensor_count=0,
    tensor_data_offset=0,
)  # fmt: skip
_SLM1_LITTLE = replace(_SLM1_SHAPE, vocab=8, hidden=2, heads=2, kv_heads=1, ffn=2)
SLM1_FILES = {
    f"{dtype.name}-{name}": (dtype, shape)
    for dtype in Slm1DType
    for name, shape in {
        "btok": _SLM1_SHAPE,
        "btok-tied": replace(_SLM1_SHAPE, flags=1),
        "bpe1": _SLM1_LITTLE,
        "bpe1-tied": replace(_SLM1_LITTLE, flags=1),
    }.items()
}


@cache
def slm1_file(name: str) -> bytes:
    """A sound SLM1 file with one of the two tokenizers."""
    dtype, shape = SLM1_FILES[name]
    bpe1 = Bpe1(8, Specials(0, 1, 2, 3), {4: b"a", 5: b"b", 6: b"ab"}, {(4, 5): (0, 6)})
    tokenizer = write_bpe1(bpe1) if shape.vocab == 8 else write_btok(Btok())
    return assemble_slm1(shape, dtype, tokenizer, _slm1_values, block=2)


def _slm1_values(named: NamedTensor) -> F32:
    return _values(named.name, named.dims)
