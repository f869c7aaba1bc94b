"""What llama.cpp computes otherwise is refused before it is asked; its converter may fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.skips import lacking
from trlm_lab.backends.llama_cpp import LlamaCppRunner
from trlm_lab.backends.llama_cpp_export import converted, export_of
from trlm_lab.backends.llama_cpp_families import RULES, refusal, unseen_window
from trlm_lab.backends.llama_cpp_sdist import cached_converter, converter_room
from trlm_lab.base.interfaces import Runner, Subject
from trlm_lab.base.records import Case
from trlm_lab.errors import (
    CaseNotSupportedError,
    ConversionError,
    PeerMissingError,
)
from trlm_lab.flows.acquisition import Source

_PLAIN = {"rope_type": "default", "rope_theta": 1e4}
_SLIDES, _FULL = "sliding_attention", "full_attention"
_SIZES: dict[str, Any] = {
    "hidden_size": 48, "num_attention_heads": 4, "num_hidden_layers": 4, "hidden_act": "silu",
    "rope_parameters": _PLAIN,
}  # fmt: skip
_GEMMA: dict[str, Any] = {
    **_SIZES, "hidden_activation": "gelu_pytorch_tanh", "head_dim": 16,
    "query_pre_attn_scalar": 16, "layer_types": [_SLIDES, _FULL] * 2, "tie_word_embeddings": True,
}  # fmt: skip
FIELDS: dict[str, dict[str, Any]] = {
    "llama": _SIZES, "mistral": _SIZES, "qwen2": _SIZES, "qwen3": _SIZES, "olmo2": _SIZES,
    "phi3": _SIZES, "gemma2": _GEMMA,
    "gemma3_text": {
        **_GEMMA, "layer_types": [_SLIDES] * 4,
        "rope_parameters": {_FULL: {"rope_type": "linear", "factor": 8.0}, _SLIDES: _PLAIN},
    },
    "gpt2": {"n_embd": 48, "n_inner": None, "activation_function": "gelu_new"},
}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRLM_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_each_family_of_the_table_is_computed() -> None:
    assert set(FIELDS) == set(RULES)
    for family, fields in FIELDS.items():
        assert refusal({"model_type": family, **fields}) == ""
    assert "no family 'bloom'" in refusal({"model_type": "bloom"})


@pytest.mark.parametrize(
    ("family", "changed", "said"),
    [
        ("mistral", {"hidden_act": "gelu"}, "hidden_act"),
        ("qwen3", {"attention_bias": True}, "attention_bias"),
        ("llama", {"mlp_bias": True}, "mlp_bias"),
        ("qwen2", {"head_dim": 16}, "llama.cpp takes 12"),
        ("olmo2", {"rope_parameters": {"rope_type": "yarn"}}, "yarn"),
        ("phi3", {"rope_parameters": {"rope_type": "longrope"}}, "longrope"),
        ("gemma2", {"query_pre_attn_scalar": 24}, "llama.cpp takes 16"),
        # The 27B model alone takes what the heads share.
        ("gemma2", {"num_hidden_layers": 46, "layer_types": [_SLIDES, _FULL] * 23}, "takes 12"),
        ("gemma2", {"layer_types": [_FULL, _SLIDES] * 2}, "every 2th layer"),
        ("gemma2", {"tie_word_embeddings": False}, "tie_word_embeddings"),
        ("gemma3_text", {"layer_types": [_SLIDES] * 3 + [_FULL]}, "every 6th layer"),
        ("gemma3_text", {"attn_logit_softcapping": 5.0}, "attn_logit_softcapping"),
        (
            "gemma3_text",
            {"rope_parameters": {_FULL: _PLAIN, _SLIDES: {"rope_type": "linear"}}},
            "linear",
        ),
        ("gpt2", {"n_inner": 80}, "llama.cpp takes 192"),
        ("gpt2", {"activation_function": "relu"}, "relu"),
    ],
)
def test_what_it_computes_otherwise_is_refused(
    family: str, changed: dict[str, Any], said: str
) -> None:
    assert said in refusal({"model_type": family, **FIELDS[family], **changed})


def test_windows_that_it_does_not_apply() -> None:
    assert unseen_window({"model_type": "mistral", "sliding_window": 5}) == 5
    assert unseen_window({"model_type": "mistral", "sliding_window": None}) is None
    layers = {"model_type": "qwen2", "sliding_window": 5}
    assert unseen_window({**layers, "layer_types": [_FULL, _SLIDES]}) == 5
    assert unseen_window({**layers, "layer_types": [_FULL, _FULL]}) is None
    assert unseen_window({"model_type": "gemma2", "sliding_window": 5}) is None


def test_without_the_converter_other_families_are_not_supported(
    home: Path, tiny_models: Callable[..., Path]
) -> None:
    with pytest.raises(PeerMissingError, match="make peers"):
        export_of(tiny_models("gemma3"))


def test_a_converter_that_fails_says_how(home: Path, tiny_models: Callable[..., Path]) -> None:
    package = converter_room() / "conversion"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ValueError('out of order')\n")
    with pytest.raises(ConversionError) as caught:
        export_of(tiny_models("gpt2"))
    assert "out of order" in caught.value.text
    assert not list((home / "gguf").glob("*.gguf"))
    assert not list((home / "gguf").glob(".tmp-*"))


@pytest.fixture
def converter(require: Callable[[Runner], None]) -> None:
    require(LlamaCppRunner())
    if cached_converter() is None:
        lacking("llama.cpp", "its converter is not in the cache (make peers)")


@pytest.mark.slow
@pytest.mark.peer
def test_the_converter_writes_what_our_own_export_writes(
    converter: None, small_source: Source
) -> None:
    import gguf

    ours = {t.name: t for t in gguf.GGUFReader(export_of(small_source.root).gguf).tensors}
    theirs = {t.name: t for t in gguf.GGUFReader(converted(small_source.root).gguf).tensors}
    assert ours.keys() == theirs.keys()
    for name, tensor in ours.items():
        assert tensor.data.tobytes() == theirs[name].data.tobytes(), name


@pytest.mark.slow
@pytest.mark.peer
def test_the_engine_names_what_it_refuses(
    converter: None, tiny_models: Callable[..., Path]
) -> None:
    case = Case("a", (1, 2))
    with LlamaCppRunner().open(Subject(model_dir=tiny_models("gemma2"))) as session:
        session.prepare([case])
        with pytest.raises(CaseNotSupportedError, match="query_pre_attn_scalar"):
            list(session.run(case))
