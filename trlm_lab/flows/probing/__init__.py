"""Probes: how an engine computes, read off what it answers on a model made for the question."""

from trlm_lab.flows.probing.probe import probe_engine, probed
from trlm_lab.flows.probing.record import deviations, sentence, shown

__all__ = ["deviations", "probe_engine", "probed", "sentence", "shown"]
