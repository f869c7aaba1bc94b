"""`python -m trlm_lab.flows.cli` is the `trlm` command."""

from trlm_lab.flows.cli import main

main()
