"""Errors of tokenizers: files, patterns, input and ids."""

from __future__ import annotations

from trlm_lab.errors.root import InfrastructureError, Refused, UsageError


class Utf8Error(Refused):
    """Text that is no well-formed UTF-8."""

    code = "UTF8"
    rule = "the text is no UTF-8: {detail} at byte {index}"
    fix = "repair the text; nothing is replaced silently"


class TextTooLongError(Refused):
    """Text beyond the bound of one call."""

    code = "TEXT_TOO_LONG"
    rule = "the text has {got} {unit}, the limit is {limit}"
    fix = "cut the text, or raise the limit"


class TokenizerFieldError(Refused):
    """A field of tokenizer.json that is unknown, missing or ill-typed."""

    code = "TOKENIZER_FIELD"
    rule = "{detail}"
    fix = "use the file as its publisher wrote it, or report the field: it may change token ids"


class TokenizerKindError(Refused):
    """A component of tokenizer.json of a kind that is not built here."""

    code = "TOKENIZER_KIND"
    rule = "the {stage} {kind} is not supported; supported: {known}"
    fix = "use the engine hf for this tokenizer"


class TokenizerVocabularyError(Refused):
    """Tokens, merges or scores that contradict each other."""

    code = "TOKENIZER_VOCABULARY"
    rule = "{detail}"
    fix = "use the file as its publisher wrote it"


class AddedTokenErasedError(Refused):
    """A normalized added token of which the normalizer leaves nothing: it matches everywhere."""

    code = "ADDED_TOKEN_ERASED"
    rule = "the normalizer leaves nothing of the added token {token}, which is to be normalized"
    fix = "set its normalized to false, or ask the publisher: the source cuts every text there"


class AddedTokenAmbiguousError(Refused):
    """Two normalized added tokens with one normalized form."""

    code = "ADDED_TOKEN_AMBIGUOUS"
    rule = "the normalizer makes one text, {form}, of the added tokens {other} and {token}"
    fix = "set normalized to false for all but one, or ask the publisher: the source takes any"


class PostProcessorOrderError(Refused):
    """What puts tokens around a text, behind a template whose parts are not joined yet."""

    code = "POST_PROCESSOR_ORDER"
    rule = "{kind} puts tokens around each part of the TemplateProcessing {template} before it"
    fix = "put the TemplateProcessing last, or use the engine hf for this tokenizer"


class MergeDuplicateError(Refused):
    """A merge that occurs twice, so that its rank is not settled."""

    code = "MERGE_DUPLICATE"
    rule = "the merge {merge} stands at rank {first} already"
    fix = "ask the publisher which rank is meant"


class PatternUnsupportedError(Refused):
    """A regular expression outside the subset whose meaning is pinned."""

    code = "PATTERN_UNSUPPORTED"
    rule = "the pattern {pattern} has {construct} at character {index}, which is not supported"
    fix = "use the engine hf for this tokenizer"


class PatternStepsError(Refused):
    """A text on which a pattern tries more ways than a search may."""

    code = "PATTERN_STEPS"
    rule = "a pattern takes more than {steps} steps and {steps_a_byte} for each byte of a text"
    fix = "cut the text, or ask the publisher: the pattern tries the same places over and over"


class UnknownTokenMissingError(Refused):
    """A text that the model has no token for, in a tokenizer without unknown token."""

    code = "UNKNOWN_TOKEN_MISSING"
    rule = "no token stands for {text}, and the model has no unknown token"
    fix = "change the text; the source refuses it as well"


class TokenIdError(Refused):
    """An id that no token has."""

    code = "TOKEN_ID"
    rule = "{got} at index {index} is no id of this tokenizer"
    fix = "use ids of the same tokenizer"


class TextLineError(Refused):
    """A JSON line for `trlm tokenize` or `trlm decode` of the wrong form."""

    code = "TEXT_LINE"
    rule = "{detail}"
    fix = "see docs/tokenizer.md for the forms of a line"


class SegmentsUnsupportedError(InfrastructureError):
    """Template and content in one text, for an engine that cannot keep them apart."""

    code = "NOT_SUPPORTED"
    rule = "the engine {engine} does not keep content and template apart within one text"
    fix = "use the engine python, native or wasm"


class StreamUnsupportedError(InfrastructureError):
    """Decoding token by token, for an engine that decodes whole lists only."""

    code = "NOT_SUPPORTED"
    rule = "the engine {engine} does not decode token by token with exact bytes"
    fix = "use the engine python"


class VectorsFileError(Refused):
    """A file that is no set of golden vectors of a tokenizer."""

    code = "TOKENIZER_VECTORS"
    rule = "{detail}"
    fix = "write the vectors again with trlm tokenizer vectors"


class SentencePieceFileError(Refused):
    """Bytes that are no protocol buffer, so no SentencePiece model."""

    code = "SENTENCEPIECE_FILE"
    rule = "the model file is broken: {detail}"
    fix = "fetch the file again"


class SentencePieceFieldError(Refused):
    """A field of a SentencePiece model that is unknown, ill-typed, repeated or out of bounds."""

    code = "SENTENCEPIECE_FIELD"
    rule = "field {number} at byte {index} {detail}"
    fix = "use the file as its publisher wrote it, or report the field: it may change token ids"


class LibraryRefusedError(Refused):
    """A text or ids that the source's own library raises an error for."""

    code = "LIBRARY_REFUSED"
    rule = "the library of the engine {engine} refuses: {detail}"
    fix = "use the engine python: it refuses by rules of its own, each with a name"


class EngineFileKindError(UsageError):
    """A tokenizer engine over a file of a kind that it does not read."""

    code = "ENGINE_FILE_KIND"
    rule = "the engine {engine} does not read {kind} files"
    fix = "use {known}"
