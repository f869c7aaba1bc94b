"""Single operators of torch, as its functional interface has them: bounded, not exact.

They show what the source framework computes for the very operands of the reference. torch chooses
its own order of sums and its own elementary functions, so no profile's bits are promised.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trlm_lab.errors import OperatorNotServedError
from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.gated import GATES
from trlm_lab.ops.kernels import Kernel, Kernels
from trlm_lab.oracle.environment import framework
from trlm_lab.oracle.waiting import wait_passively

ENGINE = "torch"


def torch_kernels(arithmetic: Arithmetic) -> Kernels:
    """torch's operators in the element type of the profile.

    Raises:
        OracleMissingError: torch is not installed.
        OperatorNotServedError: a profile with options, which torch's operators do not have.
    """
    if arithmetic.norm_rounding or arithmetic.masked_rows != "error":
        known = "profiles without options"
        raise OperatorNotServedError(
            where=ENGINE, engine=ENGINE, kind="profile", name=arithmetic.name, known=known
        )
    framework()
    wait_passively()
    return Kernels(ENGINE, {**_rows(), **_elementwise(), **_rotations()})


def _in(values: Array) -> Any:
    import torch

    return torch.from_numpy(np.ascontiguousarray(values))


def _rows() -> dict[str, Kernel]:
    from torch.nn import functional

    def rms_norm(x: Array, weight: Array, eps: float) -> Array:
        return _out(functional.rms_norm(_in(x), weight.shape, _in(weight), eps))

    def layer_norm(x: Array, weight: Array, bias: Array, eps: float) -> Array:
        return _out(functional.layer_norm(_in(x), weight.shape, _in(weight), _in(bias), eps))

    def softmax(x: Array, visible: Array) -> Array:
        hidden = _in(x).masked_fill(_in(~visible), -np.inf)
        return _out(functional.softmax(hidden, dim=-1))

    def matmul(x: Array, weight: Array) -> Array:
        return _out(functional.linear(_in(x), _in(weight)))

    def embedding(weight: Array, token_ids: Array) -> Array:
        return _out(_in(weight)[_in(token_ids)])

    return {
        "rms_norm": rms_norm,
        "layer_norm": layer_norm,
        "softmax": softmax,
        "attention": _attention,
        "matmul": matmul,
        "embedding": embedding,
    }


def _attention(
    q: Array, k: Array, v: Array, visible: Array, scale: float, cap: float | None
) -> Array:
    """Scores, soft cap, mask, softmax, values: torch's fused attention has no cap."""
    import torch
    from torch.nn import functional

    group = q.shape[1] // k.shape[1]
    keys, values = (_in(x).repeat_interleave(group, dim=1).transpose(0, 1) for x in (k, v))
    scores = torch.matmul(_in(q).transpose(0, 1), keys.transpose(1, 2)) * scale
    if cap is not None:
        scores = cap * torch.tanh(scores / cap)
    probs = functional.softmax(scores.masked_fill(_in(~visible), -np.inf), dim=-1)
    return _out(torch.matmul(probs, values).transpose(0, 1))


def _elementwise() -> dict[str, Kernel]:
    import torch
    from torch.nn import functional

    plain = {
        "silu": functional.silu,
        "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
        "gelu_erf": functional.gelu,
        **{name: getattr(torch, name) for name in ("exp", "log", "sin", "cos", "tanh", "erf")},
    }
    wrapped: dict[str, Kernel] = {name: _wrapped(function) for name, function in plain.items()}
    return {
        **wrapped,
        "softcap": lambda x, cap: _out(cap * torch.tanh(_in(x) / cap)),
        **{name: _gated(plain[act]) for name, act in GATES.items()},
        "add_bias": lambda y, bias: _out(_in(y) + _in(bias)),
        "embedding_scale": lambda x, scale: _out(_in(x) * scale),
        "learned_positions": lambda x, weight, at: _out(_in(x) + _in(weight)[_in(at)]),
        "residual": lambda old, new: _out(_in(old) + _in(new)),
    }


def _gated(activation: Any) -> Kernel:
    return lambda gate, up: _out(activation(_in(gate)) * _in(up))


def _wrapped(function: Any) -> Kernel:
    return lambda x: _out(function(_in(x)))


def _rotations() -> dict[str, Kernel]:
    def tables(positions: Array, inv_freq: Array, factor: float, like: Any) -> tuple[Any, Any]:
        import torch

        angles = _in(positions.astype(np.float32))[:, None] * _in(inv_freq)
        pair = torch.cos(angles) * factor, torch.sin(angles) * factor
        return pair[0][:, None].to(like.dtype), pair[1][:, None].to(like.dtype)

    def rope(x: Array, positions: Array, inv_freq: Array, factor: float) -> Array:
        import torch

        given = _in(x)
        c, s = tables(positions, inv_freq, factor, given)
        turned, rest = given.split([2 * c.shape[-1], given.shape[-1] - 2 * c.shape[-1]], dim=-1)
        x1, x2 = turned.chunk(2, dim=-1)
        return _out(torch.cat([x1 * c - x2 * s, x2 * c + x1 * s, rest], dim=-1))

    def rope_interleaved(x: Array, positions: Array, inv_freq: Array, factor: float) -> Array:
        import torch

        given = _in(x)
        c, s = tables(positions, inv_freq, factor, given)
        turned, rest = given.split([2 * c.shape[-1], given.shape[-1] - 2 * c.shape[-1]], dim=-1)
        x1, x2 = turned[..., 0::2], turned[..., 1::2]
        pairs = torch.stack([x1 * c - x2 * s, x2 * c + x1 * s], dim=-1).flatten(-2)
        return _out(torch.cat([pairs, rest], dim=-1))

    return {"rope": rope, "rope_interleaved": rope_interleaved}


def _out(tensor: Any) -> Array:
    return np.ascontiguousarray(tensor.numpy())
