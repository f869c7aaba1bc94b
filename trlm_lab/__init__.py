"""Workbench for numerical conformance of language models from source to browser."""

__version__ = "0.1.0"
