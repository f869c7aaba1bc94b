"""Keys that several families share, each with its meaning, in the groups in which they come."""

from __future__ import annotations

from trlm_lab.describe.readings import ACTIVATIONS, activation, asks_for, width_and_head
from trlm_lab.describe.rope_rules import rope_object, rotates
from trlm_lab.describe.schema import (
    Check,
    FieldRule,
    anything,
    behaviour,
    bounded,
    bounded_id,
    documentary,
    flag,
    ignored,
    only,
    or_null,
    text,
    token_ids,
)

REVIEWER = "trlm_lab maintainers"

TRAINING = "used in training only; evaluation never reads it"
RUNTIME = "how the framework returns or caches results; a prefill computes the same"
PUBLISHER = "a remark of the publisher that no code of the model reads"
SAMPLING = "a sampling default; it belongs to the sampler profile, the prefill does not read it"
CLASSIFIER = "of classes with another head; the class that decodes has none"
WIDENED = "weights are widened to float32, without rounding"
UNREAD = "no line of the family's modeling file reads it"

Fields = dict[str, FieldRule]

#: An activation that the engines compute.
KNOWN_ACTIVATION: Check = only(*ACTIVATIONS)

_SAMPLING = (
    "assistant_confidence_threshold", "assistant_lookbehind", "bad_words_ids",
    "begin_suppress_tokens", "diversity_penalty", "do_sample", "early_stopping",
    "encoder_no_repeat_ngram_size", "encoder_repetition_penalty", "epsilon_cutoff", "eta_cutoff",
    "exponential_decay_length_penalty", "forced_bos_token_id", "forced_eos_token_id",
    "length_penalty", "max_length", "max_new_tokens", "min_length", "min_p",
    "no_repeat_ngram_size", "num_assistant_tokens", "num_assistant_tokens_schedule",
    "num_beam_groups", "num_beams", "num_return_sequences", "remove_invalid_values",
    "renormalize_logits", "repetition_penalty", "suppress_tokens", "target_lookbehind",
    "temperature", "top_k", "top_p", "typical_p",
)  # fmt: skip
SAMPLING_FIELDS: Fields = {name: documentary(SAMPLING) for name in _SAMPLING}

#: The framework's base class, what older versions of it wrote, and what publishers add.
FRAMEWORK_FIELDS: Fields = {
    **SAMPLING_FIELDS,
    "quantization_config": behaviour(only(None), "replaces the weights"),
    "per_layer_config": behaviour(only(None), "gives single layers fields of their own"),
    "is_encoder_decoder": behaviour(only(False), "an encoder in front of the decoder"),
    "use_cache": documentary(RUNTIME, or_null(flag)),
    "cache_implementation": documentary(RUNTIME),
    "output_attentions": documentary(RUNTIME),
    "output_hidden_states": documentary(RUNTIME),
    "output_scores": documentary(RUNTIME),
    "tie_last_hidden_states": documentary(RUNTIME),
    "return_dict": documentary(RUNTIME),
    "return_dict_in_generate": documentary(RUNTIME),
    "chunk_size_feed_forward": ignored(UNREAD),
    "attn_implementation": documentary("which kernel runs; the oracle names its own"),
    "_attn_implementation": documentary("which kernel runs; the oracle names its own"),
    "_attn_implementation_autoset": documentary(RUNTIME),
    "torch_dtype": documentary(WIDENED, or_null(text)),
    "dtype": documentary(WIDENED, or_null(text)),
    "initializer_range": documentary(TRAINING),
    "gradient_checkpointing": documentary(TRAINING),
    "id2label": documentary(CLASSIFIER),
    "label2id": documentary(CLASSIFIER),
    "problem_type": documentary(CLASSIFIER),
    "num_labels": documentary(CLASSIFIER),
    "_num_labels": documentary(CLASSIFIER),
    "classifier_dropout": documentary(CLASSIFIER),
    "torchscript": documentary("how an older framework exported a model"),
    "use_bfloat16": documentary("of another framework"),
    "auto_map": documentary("code of the publisher; the pinned framework's own class is run"),
    "task_specific_params": documentary(SAMPLING),
    "transformers_version": documentary(PUBLISHER, or_null(text)),
    "_name_or_path": documentary(PUBLISHER, text),
    "_commit_hash": documentary(PUBLISHER),
    "unsloth_fixed": documentary(PUBLISHER),
    "unsloth_version": documentary(PUBLISHER),
    "transformers.js_config": documentary("hints for another runtime"),
}

SPECIAL_IDS: Fields = {
    "bos_token_id": behaviour(or_null(bounded_id), "first token of a text"),
    "eos_token_id": behaviour(token_ids, "stops a generation"),
    "pad_token_id": behaviour(
        or_null(bounded_id), "filler of a batch; its embedding row is zeroed when training begins"
    ),
}

_TIED = "whether the head is the embedding"
TIED: Fields = {"tie_word_embeddings": behaviour(flag, _TIED, asks_for("tie_word_embeddings"))}


def identity(model_type: str, architecture: str) -> Fields:
    """The family and the class that computes."""
    return {
        "architectures": behaviour(only([architecture]), "the class that computes"),
        "model_type": behaviour(only(model_type), "the family", asks_for("model_type")),
    }


def size(name: str, meaning: str, *, null: bool = False) -> Fields:
    """A number with the bounds that every reader has for the effective field of its name."""
    check = or_null(bounded(name)) if null else bounded(name)
    return {name: behaviour(check, meaning, asks_for(name))}


#: The sizes that all families but GPT-2 name alike.
SIZES: Fields = {
    **size("vocab_size", "rows of the embedding"),
    **size("intermediate_size", "width of the MLP"),
    **size("num_hidden_layers", "depth"),
    **size("num_attention_heads", "query heads"),
    **size("num_key_value_heads", "key and value heads", null=True),
    **size("max_position_embeddings", "context"),
    **size("rms_norm_eps", "inside the root of every norm"),
}
HIDDEN: Fields = size("hidden_size", "width of the residual stream")
HEAD_DIM: Fields = size("head_dim", "width of a head", null=True)
#: Of classes without the field `head_dim` that read it where a file gives it.
WIDTH_AND_HEAD: Fields = {
    "hidden_size": behaviour(
        bounded("hidden_size"), "width of the residual stream", width_and_head
    ),
    "head_dim": behaviour(
        bounded("head_dim"), "no field of the class, and read where given", asks_for("head_dim")
    ),
}
#: Of classes with one base for all layers that rotate whole heads.
ROPE: Fields = {
    **size("rope_theta", "base of the rotary frequencies"),
    "rope_scaling": behaviour(rope_object(), "changes the rotary frequencies", rotates),
    "rope_parameters": behaviour(rope_object(), "base and kind of rotation", rotates),
}
HIDDEN_ACT: Fields = {
    "hidden_act": behaviour(KNOWN_ACTIVATION, "activation of the gate", activation)
}
ATTENTION_DROPOUT: Fields = {"attention_dropout": documentary(TRAINING, or_null(anything))}

_ALL_FOUR = asks_for("attention_bias", "attention_out_bias")
#: Of classes that give queries, keys, values and the output projection a bias or none.
ATTENTION_BIAS: Fields = {
    "attention_bias": behaviour(flag, "biases of the four attention projections", _ALL_FOUR)
}
#: Of classes whose attention projections have no bias whatever the key says.
UNREAD_BIASES: Fields = {
    "attention_bias": ignored(UNREAD, flag, _ALL_FOUR),
    "mlp_bias": ignored(UNREAD, flag, asks_for("mlp_bias")),
}
