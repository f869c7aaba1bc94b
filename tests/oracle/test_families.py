"""All nine families in one oracle: faithful, with windows, caches, masks, positions and dtypes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.tiny_models import FAMILIES
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.model_parts import layer_ops
from trlm_lab.base.records import Case, EffectiveConfig
from trlm_lab.errors import CaptureError, UnknownNameError
from trlm_lab.oracle import TorchRunner, capture_is_faithful, effective_config, source_defaults
from trlm_lab.oracle.in_order import InOrder
from trlm_lab.oracle.loading import quiet_framework
from trlm_lab.oracle.session import TorchSession

Arrays = dict[str, NDArray[Any]]
Tiny = Callable[[str], Path]
Opened = Callable[[str], TorchSession]
MIN = np.finfo(np.float32).min
CASE = Case("c", tuple(range(5, 17)))
STEPS = 6


def _open(path: Path, dtype: str = "float32") -> TorchSession:
    return TorchRunner(dtype=dtype).open(Subject(model_dir=path))


@cache
def _config(path: Path) -> EffectiveConfig:
    return effective_config(source_defaults(path))


@pytest.fixture(scope="module")
def opened(tiny_models: Tiny) -> Opened:
    """The session of a family in float32, opened once."""
    return cache(lambda family: _open(tiny_models(family)))


def _hidden(config: EffectiveConfig, layer: int, queries: range, keys: int) -> NDArray[np.bool_]:
    """The keys that causality and the window of a layer hide from each query."""
    distance = np.array(queries)[:, None] - np.arange(keys)
    window = config.sliding_window if config.slides(layer) else None
    return (distance < 0) | (distance >= (window or keys))


@pytest.mark.parametrize("family", FAMILIES)
def test_watching_changes_no_bit(family: str, tiny_models: Tiny) -> None:
    capture_is_faithful(tiny_models(family), CASE).require()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("family", FAMILIES)
def test_half_precision_is_widened_and_masked_alike(
    family: str, dtype: str, tiny_models: Tiny
) -> None:
    """Every value is one of the dtype, logits have the bits of a plain pass, masks are one set."""
    import torch

    path = tiny_models(family)
    with _open(path, dtype) as session:
        arrays = {o.name: o.values for o in session.run(CASE)}
        plain = session.plain_logits(CASE)
        identity = session.identity
    assert (
        identity.profile == {"bfloat16": "source-eager-bf16", "float16": "source-eager-f16"}[dtype]
    )
    assert identity.details["dtype"] == dtype
    assert np.array_equal(arrays["logits"], plain)
    config = _config(path)
    for name, values in arrays.items():
        if values.dtype == np.float32 and not name.endswith("attn_masked"):
            narrowed = torch.from_numpy(values).to(getattr(torch, dtype)).float().numpy()
            assert np.array_equal(narrowed, values), name
    for layer in range(config.num_hidden_layers):
        masked = arrays[f"layers.{layer}.attn_masked"]
        assert ((masked == MIN) == _hidden(config, layer, range(12), 12)).all()


def test_unknown_name_error_for_a_dtype() -> None:
    with pytest.raises(UnknownNameError, match="int8"):
        TorchRunner(dtype="int8")


@pytest.mark.parametrize("family", FAMILIES)
def test_decode_steps_see_what_the_window_leaves(
    family: str, tiny_models: Tiny, opened: Opened
) -> None:
    config = _config(tiny_models(family))
    arrays = {o.name: o.values for o in opened(family).steps(CASE, STEPS)}
    ops = layer_ops(config)
    for step in range(STEPS):
        keys = len(CASE.token_ids) + step + 1
        for layer in range(config.num_hidden_layers):
            at = f"step{step}.layers.{layer}"
            assert all(f"{at}.{op}" in arrays for op in ops)
            masked, probs = arrays[f"{at}.attn_masked"], arrays[f"{at}.attn_probs"]
            hidden = _hidden(config, layer, range(keys - 1, keys), keys)
            assert ((masked == MIN) == hidden).all()
            assert not probs[:, hidden].view(np.uint32).any()


@pytest.mark.parametrize("family", FAMILIES)
def test_the_sources_own_generation_makes_these_tokens(
    family: str, tiny_models: Tiny, opened: Opened
) -> None:
    """With the source's own cache, which drops the keys behind a window, and its own positions."""
    import torch

    generated = {o.name: o.values for o in opened(family).steps(CASE, STEPS)}["generated"]
    with quiet_framework() as transformers, torch.no_grad():
        model = transformers.AutoModelForCausalLM.from_pretrained(
            tiny_models(family), dtype=torch.float32, attn_implementation="eager"
        )
        given = torch.tensor([CASE.token_ids])
        made = model.generate(given, max_new_tokens=STEPS, do_sample=False, eos_token_id=None)
    assert generated.tolist() == made[0, len(CASE.token_ids) :].tolist()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_padding_mask_and_a_window_hide_together(
    family: str, tiny_models: Tiny, opened: Opened
) -> None:
    config = _config(tiny_models(family))
    case = Case("hole", CASE.token_ids, attention_mask=(1, 1, 0, *(1,) * 8, 0))
    arrays = {o.name: o.values for o in opened(family).run(case)}
    for layer in range(config.num_hidden_layers):
        expected = _hidden(config, layer, range(12), 12)
        expected[:, [2, 11]] = True
        assert ((arrays[f"layers.{layer}.attn_masked"] == MIN) == expected).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_positions_move_rotations_or_learned_rows_and_no_window(
    family: str, tiny_models: Tiny, opened: Opened
) -> None:
    config = _config(tiny_models(family))
    plain = {o.name: o.values for o in opened(family).run(CASE)}
    far = Case("far", CASE.token_ids, position_ids=tuple(range(7, 42, 3)))
    moved = {o.name: o.values for o in opened(family).run(far)}
    learned = config.rope_order == "none"
    rows = moved["layers.0.input"] - plain["layers.0.input"]
    assert rows.any() == learned
    if not learned:
        assert not np.array_equal(moved["layers.0.q_rope"], plain["layers.0.q_rope"])
    for layer in range(config.num_hidden_layers):
        masked = moved[f"layers.{layer}.attn_masked"]
        assert ((masked == MIN) == _hidden(config, layer, range(12), 12)).all()


def test_partial_rotation_leaves_the_other_coordinates(opened: Opened) -> None:
    arrays = {o.name: o.values for o in opened("phi3").run(CASE)}
    heads = arrays["layers.1.q_proj"].reshape(12, 4, 16)
    assert np.array_equal(arrays["layers.1.q_rope"][..., 12:], heads[..., 12:])
    assert not np.array_equal(arrays["layers.1.q_rope"][1:, :, :12], heads[1:, :, :12])


def test_norms_of_queries_and_keys_may_come_early() -> None:
    ladder = [f"layers.0.{op}" for op in ("q_proj", "k_proj", "v_proj", "q_norm", "k_norm")]
    made = [ladder[i] for i in (0, 3, 1, 4, 2)]
    seen: list[str] = []
    ordered: InOrder[int] = InOrder(ladder, lambda name, value: seen.append(name))
    for index, name in enumerate(made):
        ordered.put(name, index)
    assert seen == ladder


@pytest.mark.parametrize("twice", ["layers.0.q_norm", "layers.0.k_proj"])
def test_capture_error_for_a_checkpoint_that_comes_twice(twice: str) -> None:
    ladder = [f"layers.0.{op}" for op in ("q_proj", "k_proj", "v_proj", "q_norm")]
    ordered: InOrder[int] = InOrder(ladder, lambda name, value: None)
    for name in ("layers.0.q_proj", "layers.0.q_norm", "layers.0.k_proj"):
        ordered.put(name, 0)
    with pytest.raises(CaptureError, match=r"layers\.0\.v_proj was due"):
        ordered.put(twice, 0)
