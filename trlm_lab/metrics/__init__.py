"""Distances between arrays, and the one rule that judges them; pure."""

from trlm_lab.metrics.bounded_logits import join_chunks, judge_top_k
from trlm_lab.metrics.chunks import CHUNK, fold, spans, sum_of_squares
from trlm_lab.metrics.difference import (
    RELATIVE_FLOOR,
    abs_difference,
    differing_bits,
    max_abs_difference,
    measure,
)
from trlm_lab.metrics.excused import excused
from trlm_lab.metrics.greedy import GreedyChange, gravest_change, greedy_changes, top_margins
from trlm_lab.metrics.judge import judge, judge_alone
from trlm_lab.metrics.judgement import Judgement
from trlm_lab.metrics.logits import PositionFigures, logit_metrics, position_figures, top_ids
from trlm_lab.metrics.masks import MASKED_OPERATORS, masked_entries
from trlm_lab.metrics.pairs import TOP_K, ArrayPair, CasePair, Noise, chosen_cases
from trlm_lab.metrics.quantiles import QUANTILES, exact_quantiles
from trlm_lab.metrics.ulp import UlpHistogram, max_ulp, ulp_histogram

__all__ = [
    "CHUNK",
    "MASKED_OPERATORS",
    "QUANTILES",
    "RELATIVE_FLOOR",
    "TOP_K",
    "ArrayPair",
    "CasePair",
    "GreedyChange",
    "Judgement",
    "Noise",
    "PositionFigures",
    "UlpHistogram",
    "abs_difference",
    "chosen_cases",
    "differing_bits",
    "exact_quantiles",
    "excused",
    "fold",
    "gravest_change",
    "greedy_changes",
    "join_chunks",
    "judge",
    "judge_alone",
    "judge_top_k",
    "logit_metrics",
    "masked_entries",
    "max_abs_difference",
    "max_ulp",
    "measure",
    "position_figures",
    "spans",
    "sum_of_squares",
    "top_ids",
    "top_margins",
    "ulp_histogram",
]
