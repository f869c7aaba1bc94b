"""Numerical settings of torch: what the oracle pins, and the same read back for the record.

Some are of the process and stay set after a session; thread count and subnormal handling are of
the thread that computes, so every computing thread applies them itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


def pin_process() -> None:
    """Deterministic algorithms, and full float32 products on every path (no TF32, no bf16)."""
    torch.use_deterministic_algorithms(True)
    # Filling fresh memory with NaN hunts bugs in torch itself; it changes no result and costs time.
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.backends.fp32_precision = "ieee"
    torch.backends.mkldnn.fp32_precision = "ieee"
    torch.backends.mkldnn.matmul.fp32_precision = "ieee"


@contextmanager
def pinned_thread(threads: int) -> Iterator[None]:
    """In the computing thread: thread count, subnormals kept, no gradients."""
    pin_process()
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    torch.set_flush_denormal(False)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.set_num_threads(before)


def settings_map() -> dict[str, Any]:
    """The process-wide settings as torch reports them."""
    return {
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
        "fp32_precision": torch.backends.fp32_precision,
        "mkldnn_matmul_fp32_precision": torch.backends.mkldnn.matmul.fp32_precision,
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "cuda_matmul_allow_tf32": torch.backends.cuda.matmul.allow_tf32,
        "default_dtype": str(torch.get_default_dtype()).removeprefix("torch."),
        "flush_denormal": False,
        "gradients": False,
    }
