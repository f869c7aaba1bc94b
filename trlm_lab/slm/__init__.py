"""Floor 1: the SLM2 container over buffers; `read.open_slm`, `write.plan_file`, `verify`."""
