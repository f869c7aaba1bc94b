"""The keys of `generation_config.json`, the same for every family."""

from __future__ import annotations

from trlm_lab.describe.families.field_groups import (
    PUBLISHER,
    REVIEWER,
    RUNTIME,
    SAMPLING,
    SAMPLING_FIELDS,
)
from trlm_lab.describe.schema import Schema, behaviour, documentary, or_null, text, token_ids

_FURTHER_SAMPLING = (
    "assistant_early_exit", "assistant_ensemble_weight", "constraints", "decoder_start_token_id",
    "dola_layers", "force_words_ids", "guidance_scale", "is_assistant", "max_matching_ngram_size",
    "max_time", "min_new_tokens", "penalty_alpha", "prompt_lookup_num_tokens", "sequence_bias",
    "speculation_type", "stop_strings", "token_healing", "top_h", "use_mtp",
    "watermarking_config",
)  # fmt: skip
_FURTHER_RUNTIME = (
    "cache_config", "cache_implementation", "compile_config", "continuous_batching_config",
    "disable_compile", "low_memory", "max_cache_len", "output_attentions", "output_hidden_states",
    "output_logits", "output_scores", "prefill_chunk_size", "return_dict_in_generate", "use_cache",
)  # fmt: skip

GENERATION_SCHEMA = Schema(
    "generation_config.json",
    2,
    REVIEWER,
    {
        "bos_token_id": behaviour(token_ids, "first token of a text"),
        "eos_token_id": behaviour(token_ids, "stops a generation"),
        "pad_token_id": behaviour(token_ids, "filler of a batch"),
        **SAMPLING_FIELDS,
        **{name: documentary(SAMPLING) for name in _FURTHER_SAMPLING},
        **{name: documentary(RUNTIME) for name in _FURTHER_RUNTIME},
        "_from_model_config": documentary(PUBLISHER),
        "transformers_version": documentary(PUBLISHER, or_null(text)),
    },
)
