"""An error of an installed package that is asked for what only a source checkout has."""

from __future__ import annotations

from trlm_lab.errors.root import InfrastructureError


class CheckoutMissingError(InfrastructureError):
    """Files beside the package, such as the notebooks, that no wheel carries."""

    code = "CHECKOUT_MISSING"
    rule = "{what} is part of the source checkout, and this package was installed without one"
    fix = "clone the repository and work there; `make demo` sets it up"
