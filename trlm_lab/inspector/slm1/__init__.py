"""SLM1 as the inspector reads it, from docs/formats/slm1.md: offsets and rules of its own."""

from trlm_lab.inspector.slm1.inspect import inspect_slm1

__all__ = ["inspect_slm1"]
