"""Floor 1: the steps from a source weight to a used one, each computed anew from its definition.

This room knows no packer, reader or engine, and takes other roads than they do: magnitudes are
compared as integers, quotients and products are exact or in float64 and rounded once, codes are
placed by a table of bit positions. Whoever climbs the ladder holds what the others made against it.
"""

from trlm_lab.rungs.codes import Rounded, rounded, words_of
from trlm_lab.rungs.names import RUNGS, TWELVE
from trlm_lab.rungs.norms import layer_normed, rms_normed
from trlm_lab.rungs.packing import pack_rows, unpack_rows
from trlm_lab.rungs.parameters import Parameters, parameters
from trlm_lab.rungs.products import lanes_dot, scalar_dot
from trlm_lab.rungs.scales import scale_values
from trlm_lab.rungs.sources import interleaved_rows, widened_words
from trlm_lab.rungs.storage import Storage
from trlm_lab.rungs.values import values_of

__all__ = [
    "RUNGS",
    "TWELVE",
    "Parameters",
    "Rounded",
    "Storage",
    "interleaved_rows",
    "lanes_dot",
    "layer_normed",
    "pack_rows",
    "parameters",
    "rms_normed",
    "rounded",
    "scalar_dot",
    "scale_values",
    "unpack_rows",
    "values_of",
    "widened_words",
    "words_of",
]
