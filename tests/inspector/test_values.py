"""The inspector decodes rows of every storage form to the values that the reader has."""

from pathlib import Path

import numpy as np
import pytest

from tests.backends.coded_model import coded_model, every_form
from tests.slm1.made import made
from trlm_lab.errors import InspectRowsError, InspectTensorError
from trlm_lab.inspector import inspect_bytes, tensor_values
from trlm_lab.pack.weights import row_slices
from trlm_lab.slm.read import open_slm
from trlm_lab.slm1.codecs import DType as Old
from trlm_lab.slm1.read import open_slm1
from trlm_lab.text.slm1 import special_ids

FORMS = [(*form, family) for form in every_form() for family in ("llama", "gpt2")]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(str(part) for part in form))
def test_rows_are_those_of_the_reader(form) -> None:
    view = memoryview(coded_model(*form))
    found, slm = inspect_bytes(view), open_slm(view)
    assert not found.findings
    for tensor in slm.tensors:
        if tensor.residual_of is not None:
            continue
        held = slm.tensor(tensor.alias_of) if tensor.alias_of else tensor
        want = np.concatenate(list(row_slices(held, slm.residual_of(held.name))))
        got = tensor_values(view, found, tensor.name)
        assert got.tobytes() == want.astype(np.float32).tobytes(), tensor.name
        middle = len(want) // 2
        assert tensor_values(view, found, tensor.name, middle, middle + 1).tobytes() == (
            want[middle].astype(np.float32).tobytes()
        )


@pytest.mark.parametrize("dtype", [Old.f32, Old.q8_0, Old.q4_0])
def test_rows_of_slm1(dtype: Old) -> None:
    view = memoryview(made(dtype))
    found, slm1 = inspect_bytes(view), open_slm1(view, special_ids)
    assert not found.findings
    for tensor in slm1.tensors:
        placed = tensor.placed
        want = tensor.decoded(0, placed.rows)
        assert tensor_values(view, found, placed.named.name).tobytes() == want.tobytes()


def test_what_is_not_there(tmp_path: Path) -> None:
    view = memoryview(made())
    found = inspect_bytes(view)
    with pytest.raises(InspectTensorError, match=r"layers\.0\.wq"):
        tensor_values(view, found, "layers.0.q_proj.weight")
    for low, high in ((0, 0), (2, 1), (0, 261), (-1, 2)):
        with pytest.raises(InspectRowsError, match="which has 260"):
            tensor_values(view, found, "tok_embeddings.weight", low, high)
