"""The quantization ladder of one tensor: who says what at every rung, and which is wrong."""
