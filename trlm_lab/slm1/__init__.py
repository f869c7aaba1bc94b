"""Floor 1: the SLM1 container over buffers; `read.open_slm1`, `write.plan_slm1`, `verify`."""
