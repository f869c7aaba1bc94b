"""Stage: an independent reader of `.slm` files, with offsets, CBOR and dequantizer of its own.

It shares no code with the writer, the reader of the engines or the packer, so that a mistake there
is seen here. It never raises on bad bytes; it reports findings.
"""

from trlm_lab.inspector.inspect import inspect, inspect_bytes
from trlm_lab.inspector.values import tensor_values

__all__ = ["inspect", "inspect_bytes", "tensor_values"]
