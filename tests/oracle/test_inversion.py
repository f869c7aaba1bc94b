"""The generator over a calling-back function: bounded, closable, and no error is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from trlm_lab.oracle.inversion import CAPACITY, CAPACITY_BYTES, generate


def test_values_come_in_order() -> None:
    def produce(put: Callable[[int], None]) -> None:
        for i in range(1000):
            put(i)

    assert list(generate(produce)) == list(range(1000))


def test_the_producer_waits_for_the_reader() -> None:
    made: list[int] = []
    full = threading.Event()

    def produce(put: Callable[[int], None]) -> None:
        for i in range(1000):
            made.append(i)
            if len(made) == CAPACITY + 2:
                full.set()
            put(i)

    stream = generate(produce)
    assert next(stream) == 0
    assert full.wait(10)
    # One read, CAPACITY unread, one in the producer's hands.
    assert len(made) == CAPACITY + 2
    stream.close()
    assert len(made) == CAPACITY + 2


def test_closing_unwinds_the_producer() -> None:
    left = threading.Event()

    def produce(put: Callable[[int], None]) -> None:
        try:
            for i in range(1000):
                put(i)
        finally:
            left.set()

    stream = generate(produce)
    next(stream)
    stream.close()
    assert left.is_set()


def test_an_error_comes_after_the_values_before_it() -> None:
    def produce(put: Callable[[int], None]) -> None:
        put(1)
        raise ValueError("lost")

    stream = generate(produce)
    assert next(stream) == 1
    with pytest.raises(ValueError, match="lost"):
        next(stream)


def test_nothing_runs_before_the_first_read() -> None:
    ran: list[int] = []
    generate(lambda put: ran.append(1))
    assert not ran


def test_large_values_wait_one_at_a_time() -> None:
    """However many there may be, unread ones have no more bytes than the bound, or are one."""
    made: list[int] = []
    full = threading.Event()

    def produce(put: Callable[[int], None]) -> None:
        for i in range(8):
            made.append(i)
            if len(made) == 3:
                full.set()
            put(i)

    stream = generate(produce, lambda item: CAPACITY_BYTES)
    assert next(stream) == 0
    assert full.wait(10)
    assert made == [0, 1, 2]
    assert list(stream) == list(range(1, 8))
