"""Errors of packing a snapshot and of unpacking it."""

from __future__ import annotations

from trlm_lab.errors.root import Refused, UsageError


class PackSourceError(Refused):
    """A snapshot without the weights file."""

    code = "PACK_SOURCE"
    rule = "{detail}"
    fix = "acquire the source again; a snapshot holds model.safetensors"


class PackShardError(Refused):
    """Shards that are not all there, or not alone."""

    code = "PACK_SHARD"
    rule = "{detail}"
    fix = "fetch every shard of one revision into one directory"


class PackDuplicateError(Refused):
    """One tensor in two shards: which of them the model has, no file says."""

    code = "PACK_DUPLICATE"
    rule = "tensor {tensor!r} lies in {other} too"
    fix = "fetch every shard of one revision into one directory"


class PackUnknownTensorError(Refused):
    """A source tensor that the configuration does not explain."""

    code = "PACK_UNKNOWN_TENSOR"
    rule = "the source holds tensors that would not be consumed: {names}"
    fix = "describe the model with the family that has these tensors"


class PackMissingTensorError(Refused):
    """A tensor that the configuration asks for and the source lacks."""

    code = "PACK_MISSING_TENSOR"
    rule = "the source lacks {names}"
    fix = "acquire the source again, or correct the configuration"


class PackShapeError(Refused):
    """A source tensor whose shape is not the configuration's."""

    code = "PACK_SHAPE"
    rule = "tensor {tensor!r} has the shape {got}, the configuration asks for {expected}"
    fix = "use the configuration that belongs to these weights"


class PackDtypeError(Refused):
    """A source tensor of an element type that cannot be widened to float32."""

    code = "PACK_DTYPE"
    rule = "tensor {tensor!r} has the element type {got}, packable are {expected}"
    fix = "convert the source to float32 first, as a recorded step"


class PackTiedHeadError(Refused):
    """A head stored beside the tied flag that is not the embedding."""

    code = "PACK_TIED_HEAD"
    rule = "the configuration ties the head, yet {tensor!r} first differs at byte {byte}"
    fix = "set tie_word_embeddings to false, or drop the tensor, after asking the publisher"


class LedgerFileError(Refused):
    """A file that is no ledger."""

    code = "LEDGER_FILE"
    rule = "this is no ledger: {detail}"
    fix = "give a file that `trlm ledger show ... --json` wrote"


class CodesFileError(Refused):
    """A file that holds no codes of a calibrated quantizer."""

    code = "CODES_FILE"
    rule = "this is no file of codes: {detail}"
    fix = "make it with `trlm quantize`"


class CodesMismatchError(Refused):
    """Codes of other weights than those of the source."""

    code = "CODES_MISMATCH"
    rule = "the source has for {tensor}: {detail}"
    fix = "quantize this source, or pack the one that the codes were made of"


class CalibrationNeededError(UsageError):
    """A calibrated profile without calibration, or the other way round."""

    code = "CALIBRATION_NEEDED"
    rule = "{detail}"
    fix = "pass --calibration FILE (of `trlm corpus`) or --codes FILE with a calibrated profile"
