"""The likely fix of every finding of the conflict detector, by its code."""

from __future__ import annotations

_RESOLVE = (
    "ask the publisher which declaration holds, or settle this one conflict with a reviewed "
    "resolution file (`--resolution FILE`)"
)
_TOKENIZER = "fetch tokenizer.json of the same revision again, or ask the publisher to correct it"

_FIXES: dict[str, str] = {
    "ARCHITECTURE_MISSING": "give model_type and architectures as the publisher's config.json does",
    "ARCHITECTURE_CONFLICT": "use the config.json that belongs to these weights",
    "VOCAB_CONFLICT": "use configuration, tokenizer and weights of one revision",
    "TOKENIZER_INCOMPLETE": _TOKENIZER,
    "TOKENIZER_CONFLICT": "keep the tokenizer files of one revision only",
    "ADDED_TOKEN_AMBIGUOUS": "set normalized to false for all but one, or ask the publisher",
    "ADDED_TOKEN_ERASED": "set its normalized to false, or ask the publisher",
    "ADDED_TOKEN_ID": "keep the table that the publisher means; ids decide what is generated",
    "SPECIAL_TOKEN_ADDED": (
        "use the tokenizer.json that lists it among its added tokens, or drop the name after "
        "asking the publisher"
    ),
    "TRUNCATION_DECLARED": "nothing for a run; other readers of tokenizer.json may cut texts",
    "TOKENIZER_STAGE": "use a tokenizer whose stages are known; an unknown one is never left out",
    "MERGE_FORM": _TOKENIZER,
    "MERGE_DUPLICATE": _TOKENIZER,
    "MERGE_TOKEN": _TOKENIZER,
    "VOCAB_DUPLICATE": _TOKENIZER,
    "EOS_MISSING": _RESOLVE,
    "TEMPLATE_AMBIGUOUS": _RESOLVE,
    "TEMPLATE_SYNTAX": "use the template of a revision that renders",
    "MODEL_CARD_CONFLICT": _RESOLVE,
    "DOUBLE_INSERTION": (
        "nothing for a run; encode a rendered prompt without the special tokens of the tokenizer "
        "(`add_special_tokens=False`)"
    ),
    "CARD_MARKER": "nothing, if the card speaks of another model; else ask the publisher",
    "CARD_STOP": "give the text to the runtime as a stop, if the example's results are wanted",
    "CARD_REFERENCE": "nothing for one prompt; a batch that is padded so differs from the files",
    "CARD_SAMPLING": "state the sampling values of a comparison; none is taken from the card",
    "CARD_UNREADABLE": "read the rest of the card yourself, or fetch it again",
    "ROPE_CONFLICT": "keep one declaration of the rotary base, after finding out which one holds",
    "TIED_CONFLICT": "set tie_word_embeddings to what the weights are, or use the right weights",
    "TIED_COPY": "nothing; the copy was compared byte by byte and is stored once",
    "LICENCE_MISSING": "add the publisher's licence text as LICENSE before anything is published",
    "FAMILY_UNSUPPORTED": "add a closed schema for the family, or use a model of a known one",
    "TENSORS_UNCHECKED": "run `trlm describe`, which reads the sizes out of the framework",
    "MISSING_PART": "nothing, if only the rest was to be checked; else fetch the file too",
    "VOCAB_HOLE": "nothing, if the publisher leaves these ids unused; no text ever gives them",
}


def fix_of(code: str) -> str:
    """The fix of a code; role conflicts (`BOS_CONFLICT`, `PAD_RANGE`, ...) share theirs."""
    if code in _FIXES:
        return _FIXES[code]
    if code.endswith("_RANGE"):
        return "use an id below vocab_size; the declaration belongs to another vocabulary"
    if code.endswith("_ORDINARY"):
        return "nothing, if the publisher means it; the token can then occur in ordinary text"
    return _RESOLVE
