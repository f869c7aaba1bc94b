"""Floor 3: one function a stage, the only place where rooms meet; the command line and notebooks
call these."""
