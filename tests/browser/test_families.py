"""In Chromium too, models of every family have the reference's bits; one browser for all."""

from pathlib import Path

import pytest

from tests.backends.exact_cases import CASE, ODD_CASE
from tests.backends.tiny_families import FAMILIES
from tests.backends.tiny_slm import tiny_config, tiny_weights, write_slm
from trlm_lab.backends.browser import ChromiumRunner
from trlm_lab.backends.reference import ReferenceRunner
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.model_parts import ladder_of
from trlm_lab.base.names import is_checkpoint
from trlm_lab.base.records import ArrayDigest, Case
from trlm_lab.errors import AllKeysMaskedError

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


#: Every other family quantized, so that both forms of a matrix are read.
QUANT = {family: ("q8_r128", "f32")[i % 2] for i, family in enumerate(FAMILIES)}


@pytest.mark.parametrize(("family", "quant"), QUANT.items())
def test_every_checkpoint_has_the_bits_of_the_reference(
    chromium: ChromiumRunner, tmp_path: Path, family: str, quant: str
) -> None:
    config = tiny_config(family)
    path = tmp_path / "family.slm"
    path.write_bytes(write_slm(config, tiny_weights(config), quant))
    subject = Subject(artifact=path)
    with chromium.open(subject) as ours, ReferenceRunner().open(subject) as theirs:
        for case in (CASE, ODD_CASE):
            wanted = tuple(ArrayDigest.of(seen) for seen in theirs.run(case))
            trace = ours.run_digests(case)
            assert trace.arrays == wanted
            assert [name for name in trace.names if is_checkpoint(name)] == ladder_of(config)
        if config.sliding_window is not None:
            hidden = Case("hidden", (1,) * 8, attention_mask=(1, *(0,) * 7))
            with pytest.raises(AllKeysMaskedError) as refusal:
                ours.run_digests(hidden)
            assert refusal.value.facts["row"] == config.sliding_window
