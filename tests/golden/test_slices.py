"""Parts of arrays: their texts, and what bounds keep."""

import numpy as np
import pytest

from trlm_lab.golden import Bounds, Slice, parse_slice


def test_a_text_and_its_slice() -> None:
    part = Slice(((4, 8), (0, 64)), (12, 576))
    assert str(part) == "4:8,0:64 of 12x576"
    assert parse_slice(str(part)) == part
    assert part.shape == (4, 64)
    assert part.starts == (4, 0)
    values = np.arange(12 * 576).reshape(12, 576)
    assert (part.cut(values) == values[4:8, :64]).all()


@pytest.mark.parametrize(
    "text",
    ["", "first rows", "0:4", "0:4 of", "4:2 of 8", "0:9 of 8", "0:4 of 8x8", "0:4,0:4 of 8",
     "-1:4 of 8", "0:4 of 8\n", "٠:٤ of ٨", "0:99999999999 of 99999999999"],
)  # fmt: skip
def test_other_texts_are_no_slices(text: str) -> None:
    assert parse_slice(text) is None


@pytest.mark.parametrize(
    ("name", "shape", "text"),
    [
        ("token_ids", (8,), None),
        ("embedding", (8, 96), "5:8,0:16 of 8x96"),
        ("layers.0.q_rope", (8, 6, 32), "5:8,0:6,0:16 of 8x6x32"),
        ("layers.0.attn_probs", (6, 8, 8), "0:6,5:8,0:8 of 6x8x8"),
        ("logits", (8, 512), "5:8,0:512 of 8x512"),
        ("logits.topk_ids", (8, 64), "5:8,0:64 of 8x64"),
        ("layers.0.input", (2, 8), None),
    ],
)
def test_what_bounds_keep(name: str, shape: tuple[int, ...], text: str | None) -> None:
    part = Bounds(tokens=3, width=16).part(name, shape)
    assert (None if part is None else str(part)) == text


def test_no_bounds_keep_everything() -> None:
    assert Bounds().part("layers.0.q_proj", (8, 96)) is None
    names = ["token_ids", "embedding", "layers.0.input", "layers.1.input", "logits",
             "logits.topk_ids", "step0.logits", "generated"]  # fmt: skip
    assert Bounds().chosen(names) == names[:6]
    assert Bounds(layers=(1,)).chosen(names) == [n for n in names[:6] if "layers.0" not in n]
