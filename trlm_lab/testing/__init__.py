"""Contract suites to subclass, so that anyone's runner can prove itself."""

from trlm_lab.testing.runner_contract import RunnerContract

__all__ = ["RunnerContract"]
