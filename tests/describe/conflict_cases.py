"""One small directory for every code of the conflict detector, and what its rule compares."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.describe.conftest import CONFIG, post, tokenizer_json

TURNS = "{% for m in messages %}{{ m['content'] + '<|turn|>' }}{% endfor %}"
TWICE = "{{ bos_token }}{% for m in messages %}{{ m['content'] + '<|stop|>' }}{% endfor %}"
TOKENIZER_CONFIG = {"bos_token": "<|start|>", "eos_token": "<|stop|>"}
TABLE = np.arange(64, dtype=np.float32).reshape(8, 8)
BPE = {"type": "BPE", "vocab": {"<|start|>": 2, "<|stop|>": 3, "<|turn|>": 4, "a": 0, "aa": 1}}
CARD = "# A model\n\n```python\nmodel.generate({})\n```\n"

#: A directory: files by name; a dictionary is a JSON document, a list the two matrices.
Files = dict[str, Any]
Place = tuple[Any, ...]


def bpe(*merges: Any) -> dict[str, Any]:
    return tokenizer_json(model={**BPE, "merges": list(merges)})


def added(**flags: Any) -> dict[str, Any]:
    row = tokenizer_json()
    row["added_tokens"][1] |= flags
    return row


def config(**changes: Any) -> Files:
    return {"config.json": {**CONFIG, **changes}}


def decoder(row: Any) -> Files:
    return {"tokenizer_config.json": {**TOKENIZER_CONFIG, "added_tokens_decoder": {"3": row}}}


def names(**changes: Any) -> Files:
    return {"tokenizer_config.json": {**TOKENIZER_CONFIG, **changes}}


def unigram(*pieces: Any) -> Files:
    return {"tokenizer.json": tokenizer_json(model={"type": "Unigram", "vocab": list(pieces)})}


TOKENS = ("tokenizer.json", "added_tokens")
VOCABULARY = ("tokenizer.json", "model", "vocab")
ALL_TOKENS = [("tokenizer.json",)]
TWO = [{"name": n, "template": TURNS + n} for n in ("default", "tool")]

#: Name -> code, files, and every place that the rule compares.
CASES: dict[str, tuple[str, Files, list[Place]]] = {
    "no family": (
        "ARCHITECTURE_MISSING", config(architectures=[]), [("config.json", "model_type")]
    ),
    "another class": (
        "ARCHITECTURE_CONFLICT", config(architectures=["GPT2LMHeadModel"]),
        [("config.json", "model_type"), ("config.json", "architectures")],
    ),
    "a small vocabulary": (
        "VOCAB_CONFLICT", config(vocab_size=4), [("config.json", "vocab_size"), VOCABULARY, TOKENS]
    ),
    "a head of other bytes": ("TIED_CONFLICT", {"model.safetensors": [TABLE, TABLE + 1]},
                              [("model.safetensors",)]),
    "a head of the same bytes": ("TIED_COPY", {"model.safetensors": [TABLE, TABLE]}, []),
    "no head": ("TIED_CONFLICT", {**config(tie_word_embeddings=False),
                                  "model.safetensors": [TABLE]}, []),
    "two bases": (
        "ROPE_CONFLICT", config(rope_parameters={"rope_theta": 5.0}),
        [("config.json", "rope_theta"), ("config.json", "rope_parameters")],
    ),
    "two kinds": (
        "ROPE_CONFLICT",
        config(rope_scaling={"type": "yarn"}, rope_parameters={"rope_type": "linear"}),
        [("config.json", "rope_scaling"), ("config.json", "rope_parameters")],
    ),
    "two factors": (
        "ROPE_CONFLICT", config(rope_scaling={"factor": 2}, rope_parameters={"factor": 4}),
        [("config.json", "rope_scaling"), ("config.json", "rope_parameters")],
    ),
    "lists of stops": (
        "EOS_CONFLICT", {**config(eos_token_id=[3, 4]),
                         "generation_config.json": {"eos_token_id": [4, 4, 2]}},
        [("config.json", "eos_token_id"), ("generation_config.json",), VOCABULARY, TOKENS,
         ("config.json", "vocab_size")],
    ),
    "a stop of 70 bits": ("EOS_RANGE", config(eos_token_id=[3, 2**70]),
                          [("config.json", "eos_token_id"), ("config.json", "vocab_size")]),
    "a template that ends otherwise": (
        "EOS_CONFLICT", names(chat_template=TURNS), [("tokenizer_config.json", "chat_template")]
    ),
    "an object for a token": (
        "EOS_CONFLICT", names(eos_token={"content": "<|turn|>", "lstrip": False}),
        [("tokenizer_config.json", "eos_token")],
    ),
    "a processor's number": (
        "EOS_CONFLICT", {"processor_config.json": {"eos_token_id": 4}}, [("processor_config.json",)]
    ),
    "no stop": ("EOS_MISSING", {**config(eos_token_id=None), **names(eos_token=None)}, []),
    "a stop of no control": ("EOS_ORDINARY", {"tokenizer.json": added(special=False)}, [TOKENS]),
    "two starts": (
        "BOS_CONFLICT", {"tokenizer.json": post("<|turn|>", "$")},
        [("config.json", "bos_token_id"), ("tokenizer.json", "post_processor")],
    ),
    "two fillers": (
        "PAD_CONFLICT", {**config(pad_token_id=3),
                         "tokenizer.json": tokenizer_json(padding={"pad_id": 4})},
        [("config.json", "pad_token_id"), ("tokenizer.json", "padding")],
    ),
    "two unknowns": ("UNK_CONFLICT", names(unk_token="<|turn|>"),
                     [("tokenizer_config.json", "unk_token"), ("tokenizer.json", "model")]),
    **{
        f"two of {role}": (
            f"{role.upper()}_CONFLICT",
            {**names(**{f"{role}_token": "<|turn|>"}),
             "special_tokens_map.json": {f"{role}_token": "<|stop|>"}},
            [("tokenizer_config.json", f"{role}_token"), ("special_tokens_map.json",)],
        )
        for role in ("sep", "cls", "mask")
    },
    "a further token": (
        "SPECIAL_TOKEN_ADDED", names(extra_special_tokens=["<|nope|>", "<|turn|>"]),
        [("tokenizer_config.json", "extra_special_tokens"), VOCABULARY, TOKENS],
    ),
    "two templates": (
        "TEMPLATE_AMBIGUOUS", names(chat_template=TWO),
        [("tokenizer_config.json", "chat_template", n, "template") for n in (0, 1)],
    ),
    "a template file of other bytes": (
        "TEMPLATE_SYNTAX", {"chat_template.jinja": b"\xff\xfe abc"}, [("chat_template.jinja",)]
    ),
    "a template that is a number": ("TEMPLATE_SYNTAX", names(chat_template=5),
                                    [("tokenizer_config.json", "chat_template")]),
    "a template without its end": ("TEMPLATE_SYNTAX", names(chat_template="{{ 'abc"),
                                   [("tokenizer_config.json", "chat_template")]),
    "a promised start": (
        "INSERTION_CONFLICT", names(add_bos_token=True, chat_template=TWICE),
        [("tokenizer_config.json", "chat_template"), ("tokenizer_config.json", "add_bos_token"),
         ("tokenizer_config.json", "bos_token"), ("config.json", "bos_token_id"), TOKENS],
    ),
    "a start twice": (
        "DOUBLE_INSERTION",
        {"tokenizer.json": post("<|start|>", "$"), **names(chat_template=TWICE)},
        [("tokenizer_config.json", "chat_template"), ("tokenizer.json", "post_processor")],
    ),
    "a swapped table": ("ADDED_TOKEN_ID", decoder({"content": "<|turn|>", "special": True}),
                        [("tokenizer_config.json", "added_tokens_decoder"), TOKENS]),
    "a list of added tokens": ("ADDED_TOKEN_ID", {"added_tokens.json": {"<|stop|>": 4}},
                               [("added_tokens.json",), TOKENS]),
    "a flag": ("TOKENIZER_CONFLICT", decoder({"content": "<|stop|>", "special": False}),
               [("tokenizer_config.json", "added_tokens_decoder"), TOKENS]),
    "another vocabulary": ("TOKENIZER_CONFLICT", {"vocab.json": {"word": 2, "other": 1}},
                           [("vocab.json",), VOCABULARY]),
    "other merges": (
        "TOKENIZER_CONFLICT", {"tokenizer.json": bpe(["a", "a"]), "merges.txt": b"a b\nb c\n"},
        [("merges.txt",), ("tokenizer.json", "model", "merges")],
    ),
    "an erased token": (
        "ADDED_TOKEN_ERASED",
        {"tokenizer.json": {**added(normalized=True), "normalizer": {
            "type": "Replace", "pattern": {"String": "<|stop|>"}, "content": ""}}},
        [("tokenizer.json", "normalizer"), TOKENS],
    ),
    "two tokens of one form": (
        "ADDED_TOKEN_AMBIGUOUS",
        {"tokenizer.json": tokenizer_json(
            normalizer={"type": "Lowercase"},
            added_tokens=[
                {"content": text, "id": number, "special": True, "normalized": True}
                for number, text in enumerate(("<|stop|>", "<|STOP|>"), start=3)
            ])},
        [("tokenizer.json", "normalizer"), TOKENS],
    ),
    "no vocabulary": ("TOKENIZER_INCOMPLETE", {"tokenizer.json": tokenizer_json(
        model={"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "b"})}, ALL_TOKENS),
    "an unknown stage": ("TOKENIZER_STAGE", {
        "tokenizer.json": tokenizer_json(normalizer={"type": "Other"})}, ALL_TOKENS),
    "merges of two forms": ("MERGE_FORM", {"tokenizer.json": bpe(["a", "a"], "a a")}, ALL_TOKENS),
    "a merge twice": ("MERGE_DUPLICATE", {"tokenizer.json": bpe(["a", "a"], ["a", "a"])},
                      ALL_TOKENS),
    "a merge of no token": ("MERGE_TOKEN", {"tokenizer.json": bpe(["a", "b"])}, ALL_TOKENS),
    "a piece twice": ("VOCAB_DUPLICATE", unigram(["a", 0.5], ["b", 1.5], ["a", 2.5]), ALL_TOKENS),
    "a hole": ("VOCAB_HOLE", {"tokenizer.json": tokenizer_json(model={
        "type": "WordLevel", "vocab": {"[UNK]": 0, "<|start|>": 2, "<|stop|>": 3, "<|turn|>": 4},
        "unk_token": "[UNK]"})}, ALL_TOKENS),
    "a limit on texts": ("TRUNCATION_DECLARED", {
        "tokenizer.json": tokenizer_json(truncation={"max_length": 3})}, ALL_TOKENS),
    "the card's stop": ("MODEL_CARD_CONFLICT",
                        {"README.md": CARD.format("eos_token_id=[3,  4]").encode()},
                        [("README.md", "eos_token_id=[3,  4]"), VOCABULARY]),
    "the card's word": ("CARD_STOP", {
        "README.md": CARD.format("stop='some  words, which are long'").encode()},
        [("README.md", "some  words, which are long")]),
    "the card's token": ("CARD_MARKER", {"README.md": b"```\n<|other_one|> here\n```\n"},
                         [("README.md", "other_one"), TOKENS]),
    "the card's reference": (
        "CARD_REFERENCE",
        {**config(pad_token_id=4),
         "README.md": CARD.format("pad_token_id=tokenizer.eos_token_id").encode()},
        [("config.json", "pad_token_id"), ("config.json", "eos_token_id")],
    ),
    "the card's sampling": (
        "CARD_SAMPLING", {"generation_config.json": {"temperature": 0.5},
                          "README.md": CARD.format("temperature=0.25").encode()},
        [("generation_config.json", "temperature"), ("README.md", "0.25")],
    ),
    "a card of other bytes": ("CARD_UNREADABLE", {"README.md": b"# A \xff model\n"},
                              [("README.md",)]),
}  # fmt: skip
