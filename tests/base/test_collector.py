"""The collector rests for as long as anyone wishes, and then is as it was."""

import gc

import pytest

from trlm_lab.base.collector import collector_at_rest


def test_it_rests_until_the_last_has_ended() -> None:
    assert gc.isenabled()
    first, second = collector_at_rest(), collector_at_rest()
    first.__enter__()
    second.__enter__()
    assert not gc.isenabled()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()


def test_an_error_ends_its_rest() -> None:
    with pytest.raises(ValueError, match="it"), collector_at_rest():
        raise ValueError("it")
    assert gc.isenabled()


def test_who_has_switched_it_off_finds_it_off() -> None:
    gc.disable()
    try:
        with collector_at_rest():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
