"""Figures: each function draws records that others computed, and returns figure and table."""

from trlm_lab.plots.attention import attention_maps
from trlm_lab.plots.container import byte_treemap, flipped_bits
from trlm_lab.plots.depth import error_by_depth
from trlm_lab.plots.exactness import exactness_matrix
from trlm_lab.plots.floor import noise_floor
from trlm_lab.plots.graph import receipt_graph
from trlm_lab.plots.heatmap import layer_operator_heatmap
from trlm_lab.plots.ladder import ladder_walk, layer_pictures
from trlm_lab.plots.ledger import ledger_bytes, what_became
from trlm_lab.plots.lens import logit_lens
from trlm_lab.plots.quant_ladder import (
    bits_against,
    element_waterfall,
    error_maps,
    sensitivity_bars,
)
from trlm_lab.plots.quantization import bits_against_kl
from trlm_lab.plots.result import PlotResult
from trlm_lab.plots.ulp import ulp_histogram
from trlm_lab.plots.weights import outlier_channels, uneven_channels, weight_magnitudes

__all__ = [
    "PlotResult",
    "attention_maps",
    "bits_against",
    "bits_against_kl",
    "byte_treemap",
    "element_waterfall",
    "error_by_depth",
    "error_maps",
    "exactness_matrix",
    "flipped_bits",
    "ladder_walk",
    "layer_operator_heatmap",
    "layer_pictures",
    "ledger_bytes",
    "logit_lens",
    "noise_floor",
    "outlier_channels",
    "receipt_graph",
    "sensitivity_bars",
    "ulp_histogram",
    "uneven_channels",
    "weight_magnitudes",
    "what_became",
]
