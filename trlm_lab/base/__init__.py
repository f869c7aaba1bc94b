"""Floor 0: the shared language. NumPy, the standard library and cbor2 only."""
