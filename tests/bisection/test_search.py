"""Binary search over layers, then inside one."""

from hypothesis import given
from hypothesis import strategies as st

from tests.ladders import llama_ladder
from trlm_lab.base.names import ladder_rank
from trlm_lab.bisection.search import bisect_case, first_true, marker


@given(st.integers(0, 300), st.data())
def test_first_true_finds_the_edge_in_logarithmic_time(length, data):
    edge = data.draw(st.integers(0, length))
    asked = []

    def holds(i):
        asked.append(i)
        return i >= edge

    assert first_true(length, holds) == (edge if edge < length else None)
    assert len(asked) <= length.bit_length() + 1


def test_the_marker_of_a_layer_is_its_last_residual():
    assert marker(["layers.0.input", "layers.0.down_proj"]) == "layers.0.input"
    assert marker(["layers.0.input", "layers.0.output"]) == "layers.0.output"
    assert marker(["layers.0.q_proj", "layers.0.v_proj"]) == "layers.0.v_proj"
    assert marker(["final_norm", "logits"]) == "logits"


@given(st.integers(1, 40), st.sets(st.integers(0, 900)), st.data())
def test_a_lasting_fault_is_found_at_the_first_exposed_checkpoint(layers, hidden, data):
    names = [n for i, n in enumerate(llama_ladder(layers)) if i not in hidden]
    if not names:
        return
    edge = data.draw(st.integers(0, len(names)))
    bar = ladder_rank(names[edge]) if edge < len(names) else None
    asked = []

    def fails(name):
        asked.append(name)
        return bar is not None and ladder_rank(name) >= bar

    assert bisect_case(names, fails) == (names[edge] if edge < len(names) else None)
    assert len(set(asked)) <= 14


def test_an_empty_trace_has_no_answer():
    assert bisect_case([], lambda name: True) is None
