"""The names of `trlm_lab` mean the same whatever was imported before."""

from pkgutil import iter_modules

import trlm_lab


def test_every_public_name_is_there() -> None:
    for name in trlm_lab.__all__:
        assert getattr(trlm_lab, name) is not None, name


def test_no_public_name_is_a_room() -> None:
    """Python sets `trlm_lab.room` when the room is imported, over whatever was there."""
    rooms = {module.name for module in iter_modules(trlm_lab.__path__)}
    assert rooms & set(trlm_lab.__all__) == set()
