"""Floors in lock-step: the largest error, the marks left out, unequal streams refused."""

import numpy as np
import pytest

from trlm_lab.base.records import Case, Observation
from trlm_lab.calibrate import FloorMeter, trace_stream
from trlm_lab.errors import CalibrationEmptyError, CalibrationPairError, NonFiniteError

CASE = Case("a", (1, 2))
OTHER = Case("b", (1, 3))


class Wide:
    """A float64 array under a name, which an `Observation` may not be."""

    def __init__(self, name, values):
        self.name, self.values = name, np.asarray(values, np.float64)


def seen(name, values):
    return Observation(name, np.asarray(values, np.float32))


def ids():
    return Observation("token_ids", np.array([1, 2], np.int64))


def test_the_floor_is_the_largest_error_over_cases_in_float64():
    meter = FloorMeter()
    meter.add(CASE, iter([seen("embedding", [1, 1])]), iter([Wide("embedding", [1, 1 + 1e-9])]))
    meter.add(OTHER, iter([seen("embedding", [2, 1])]), iter([Wide("embedding", [2 + 1e-8, 1])]))
    (floor,) = meter.result().floors
    assert floor.floor == (2 + 1e-8) - 2
    assert (floor.case_id, floor.elements) == ("b", 4)
    assert meter.result().cases == (CASE, OTHER)


def test_the_algorithm_is_measured_beside_the_oracle():
    meter = FloorMeter()
    exact = [1, 1]
    meter.add(
        CASE,
        iter([seen("embedding", [1, 1.25])]),
        iter([Wide("embedding", exact)]),
        iter([seen("embedding", [2, 1])]),
    )
    (floor,) = meter.result().floors
    assert (floor.floor, floor.algorithm) == (0.25, 1.0)
    assert floor.algorithm_case == "a"


def test_a_third_stream_must_show_the_same_checkpoints():
    streams = (iter([seen("embedding", [1])]), iter([Wide("embedding", [1])]), iter([]))
    with pytest.raises(CalibrationPairError):
        FloorMeter().add(CASE, *streams)


def test_other_observations_are_skipped_on_either_side():
    meter = FloorMeter()
    left = [ids(), seen("embedding", [1]), seen("logits.topk_values", [1])]
    meter.add(CASE, iter(left), iter([Wide("embedding", [1.5])]))
    assert [f.checkpoint for f in meter.result().floors] == ["embedding"]


def test_floors_stand_in_ladder_order():
    names = ["embedding", "layers.2.input", "layers.10.input", "logits"]
    meter = FloorMeter()
    stream = [seen(name, [1]) for name in names]
    meter.add(CASE, iter(stream), iter(stream))
    assert [f.checkpoint for f in meter.result().floors] == names


def test_streams_are_consumed_one_pair_at_a_time():
    alive = []

    def stream(side):
        for name in ("embedding", "logits"):
            alive.append((side, name))
            yield seen(name, [1])

    FloorMeter().add(CASE, stream("o"), stream("r"))
    assert alive == [("o", "embedding"), ("r", "embedding"), ("o", "logits"), ("r", "logits")]


@pytest.mark.parametrize("mark", [np.finfo(np.float32).min, -np.inf, np.finfo(np.float64).min])
def test_masked_entries_are_left_out(mark):
    name = "layers.0.attn_masked"
    meter = FloorMeter()
    ours = seen(name, [1, np.finfo(np.float32).min])
    meter.add(CASE, iter([ours]), iter([Wide(name, [1.25, mark])]))
    assert meter.result().floors[0].floor == 0.25


def run(left, right, case=CASE, meter=None):
    meter = meter or FloorMeter()
    meter.add(case, iter(left), iter(right))
    return meter


def test_CALIBRATION_PAIR_other_names():
    with pytest.raises(CalibrationPairError, match=r"embedding.*logits"):
        run([seen("embedding", [1])], [seen("logits", [1])])
    with pytest.raises(CalibrationPairError, match="None"):
        run([seen("embedding", [1]), seen("logits", [1])], [seen("embedding", [1])])
    with pytest.raises(CalibrationPairError, match="no checkpoint"):
        run([ids()], [ids()])


def test_CALIBRATION_PAIR_other_shapes_or_masks():
    with pytest.raises(CalibrationPairError, match="shape"):
        run([seen("embedding", [1])], [seen("embedding", [1, 2])])
    name, lowest = "layers.0.attn_masked", np.finfo(np.float32).min
    with pytest.raises(CalibrationPairError, match="masked"):
        run([seen(name, [1, lowest])], [seen(name, [1, 2])])


def test_CALIBRATION_PAIR_between_cases_leaves_the_meter_as_it_was():
    meter = run([seen("embedding", [1])], [seen("embedding", [1])])
    with pytest.raises(CalibrationPairError, match="before"):
        run([seen("embedding", [1])], [seen("embedding", [9])], meter=meter)
    with pytest.raises(CalibrationPairError, match="not shown by every case"):
        run([seen("logits", [1])], [seen("logits", [9])], OTHER, meter)
    assert [(f.checkpoint, f.floor) for f in meter.result().floors] == [("embedding", 0.0)]
    assert meter.result().cases == (CASE,)


@pytest.mark.parametrize("side", [0, 1])
def test_NONFINITE_in_calibration(side):
    pair = [[seen("embedding", [1, 1])], [seen("embedding", [1, 1])]]
    pair[side] = [seen("embedding", [1, np.inf])]
    with pytest.raises(NonFiniteError) as caught:
        run(*pair)
    assert caught.value.facts == {"index": 1, "bits": "7f800000"}


def test_CALIBRATION_EMPTY():
    with pytest.raises(CalibrationEmptyError):
        FloorMeter().result()


def test_stored_traces_give_the_same_floors():
    class Stored:
        def __init__(self, value):
            self.value = np.float32(value)

        def names(self, case_id):
            return ("token_ids", "logits", "embedding")

        def read(self, case_id, name):
            return np.full(2, self.value)

    meter = FloorMeter()
    for case in (CASE, OTHER):
        meter.add(case, *(trace_stream(Stored(v), case.case_id) for v in (1, 1.5)))
    found = meter.result()
    assert [(f.checkpoint, f.floor) for f in found.floors] == [("embedding", 0.5), ("logits", 0.5)]
