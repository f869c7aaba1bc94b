"""How far the oracle moves by itself: the same cases under conditions that should change nothing.

Against a run with the pinned settings stand: the same run again, one thread, another attention of
the source, other vector instructions, oneDNN switched off, and a batch in which a longer case
stands beside the case. What they differ by is the oracle's own noise; no judgement can be finer.
"""

from trlm_lab.oracle.drift.conditions import CONDITIONS, Condition
from trlm_lab.oracle.drift.measure import measure_drift
from trlm_lab.oracle.drift.record import OracleDrift, Spread, Standing

__all__ = ["CONDITIONS", "Condition", "OracleDrift", "Spread", "Standing", "measure_drift"]
