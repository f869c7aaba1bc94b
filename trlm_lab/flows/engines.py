"""Every engine by name; one visible line each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from trlm_lab.base.interfaces import Runner
from trlm_lab.base.registry import Registry

SCALAR, LANES = "scalar-f32-v1", "lanes16-f32-v1"
#: Engines of an exact profile: within it their checkpoints must have the same bits.
EXACT_PROFILES = {
    "reference": SCALAR,
    "native-scalar": SCALAR,
    "wasm-scalar@wasmtime": SCALAR,
    "wasm-scalar@chromium": SCALAR,
    "reference:lanes16-f32-v1": LANES,
    "native-simd": LANES,
    "wasm-simd@wasmtime": LANES,
    "wasm-simd@chromium": LANES,
}
#: Those of `scalar-f32-v1`.
EXACT_ENGINES = tuple(name for name, profile in EXACT_PROFILES.items() if profile == SCALAR)


def by_profile(engines: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Engines by their exact profile, both in the order given; "" has those that have none."""
    found: dict[str, tuple[str, ...]] = {}
    for engine in engines:
        profile = EXACT_PROFILES.get(engine, "")
        found[profile] = (*found.get(profile, ()), engine)
    return found


def _reference(profile: str = SCALAR) -> Runner:
    from trlm_lab.backends.reference import ReferenceRunner

    return ReferenceRunner(profile)


def _native(profile: str = SCALAR) -> Runner:
    from trlm_lab.backends.native import NativeRunner

    return NativeRunner(profile)


def _wasmtime(profile: str = SCALAR) -> Runner:
    from trlm_lab.backends.wasm_wasmtime import WasmtimeRunner

    return WasmtimeRunner(profile)


def _chromium(profile: str = SCALAR) -> Runner:
    from trlm_lab.backends.browser import ChromiumRunner

    return ChromiumRunner(profile)


def _torch(dtype: str = "float32") -> Runner:
    from trlm_lab.oracle import TorchRunner

    return TorchRunner(dtype=dtype)


def _torch_one_thread() -> Runner:
    from trlm_lab.oracle import TorchRunner

    return TorchRunner(threads=1)


def _llama_cpp() -> Runner:
    from trlm_lab.backends.llama_cpp import LlamaCppRunner

    return LlamaCppRunner()


ENGINES: Registry[Callable[[], Runner]] = Registry("engine")
ENGINES.register("reference", _reference)
ENGINES.register("native-scalar", _native)
ENGINES.register("wasm-scalar@wasmtime", _wasmtime)
ENGINES.register("wasm-scalar@chromium", _chromium)
ENGINES.register("native-simd", partial(_native, LANES))
ENGINES.register("wasm-simd@wasmtime", partial(_wasmtime, LANES))
ENGINES.register("wasm-simd@chromium", partial(_chromium, LANES))
ENGINES.register("torch", _torch)
ENGINES.register("torch:1-thread", _torch_one_thread)
ENGINES.register("llama.cpp", _llama_cpp)


def runner(name: str, *, timeout: float | None = None) -> Runner:
    """The engine of a name; `reference:PROFILE`, `torch:DTYPE`, `faulty:NAME@LAYER` and
    `process:COMMAND` too.

    Raises:
        UnknownNameError: no engine has this name.
    """
    kind, _, rest = name.partition(":")
    if kind == "reference" and rest:
        return _reference(rest)
    if kind == "torch" and rest in ("bfloat16", "float16"):
        return _torch(rest)
    if kind == "faulty":
        from trlm_lab.backends.faulty import FaultyRunner

        return FaultyRunner(name)
    if kind == "process":
        from trlm_lab.backends.process import ProcessRunner

        return ProcessRunner(rest, timeout=timeout)
    return ENGINES[name]()


def needs_model_dir(name: str) -> bool:
    """Whether an engine reads a model directory and not the `.slm`."""
    return name.split(":")[0] in ("torch", "llama.cpp", "process")
