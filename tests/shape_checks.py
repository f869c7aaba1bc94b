"""A pytest plugin: `-p tests.shape_checks` checks shapes and types of arrays in the rooms below.

jaxtyping wraps each module while it is imported and beartype checks every call, so the plugin must
come before the first import of those rooms. Users never pay for it.
"""

from typing import Protocol, runtime_checkable

from beartype import BeartypeConf, beartype
from jaxtyping import install_import_hook

from trlm_lab.base import interfaces

ROOMS = ("quant", "metrics", "slm", "compare", "calibrate", "pack", "rungs")

#: An integer serves where a float is declared, as the typing rules have it.
checked = beartype(conf=BeartypeConf(is_pep484_tower=True))

# beartype asks whether an argument keeps to a protocol; the package itself never does.
for kind in vars(interfaces).values():
    if isinstance(kind, type) and Protocol in kind.__bases__:
        runtime_checkable(kind)

install_import_hook([f"trlm_lab.{room}" for room in ROOMS], "tests.shape_checks.checked")
