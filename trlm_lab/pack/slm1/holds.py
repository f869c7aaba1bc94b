"""What SLM1 has no place for: every reason against a configuration, not only the first."""

from __future__ import annotations

import math
from collections.abc import Iterator

from trlm_lab.base.records import EffectiveConfig
from trlm_lab.errors import Slm1CannotHoldError
from trlm_lab.slm1.frequencies import attention_scale, inverse_frequencies
from trlm_lab.slm1.header import Header, bits_of_float
from trlm_lab.slm1.layout import TIED

Ids = tuple[int, int, int, int]


def header_shape(config: EffectiveConfig, vocab: int, ids: Ids) -> Header:
    """The header's sizes and floats; places are the plan's.

    `vocab` and `ids` (BOS, EOS, PAD, UNK) are those of the tokenizer section.

    Raises:
        Slm1CannotHoldError: with every reason.
    """
    reasons = [*model_reasons(config), *_token_reasons(config, vocab, ids)]
    if reasons:
        raise Slm1CannotHoldError(where=config.model_type, reasons="; ".join(reasons))
    return Header(
        flags=TIED if config.tie_word_embeddings else 0,
        vocab=config.vocab_size,
        hidden=config.hidden_size,
        layers=config.num_hidden_layers,
        heads=config.num_attention_heads,
        kv_heads=config.num_key_value_heads,
        head_dim=config.head_dim,
        ffn=config.intermediate_size,
        max_context=config.max_position_embeddings,
        rope_theta_bits=bits_of_float(config.rope_theta),
        rms_eps_bits=bits_of_float(config.norm_eps),
        tokenizer_offset=0,
        tokenizer_length=0,
        tensor_directory_offset=0,
        tensor_count=0,
        tensor_data_offset=0,
    )


def model_reasons(config: EffectiveConfig) -> Iterator[str]:
    """Why the forward pass of this configuration is none that SLM1 says."""
    plain = (
        (config.rms_norm_eps is not None, "a LayerNorm"),
        (not config.norm_unit_offset, "norms with the factor 1 + w"),
        (config.norm_placement == "pre", f"norms placed {config.norm_placement!r}"),
        (config.qk_norm == "none", "norms of queries and keys"),
        (config.rope_order != "none", "learned positions"),
        (config.rope_attention_factor == 1.0, "a factor of cosine and sine"),
        (config.attn_logit_softcapping is None, "a soft cap of the scores"),
        (config.final_logit_softcapping is None, "a soft cap of the logits"),
        (config.sliding_window is None, "a sliding window"),
        (config.hidden_act == "silu", f"the activation {config.hidden_act}"),
        (config.mlp_gated, "an MLP without gate"),
        (config.embedding_scale == 1.0, "a factor of the embedding"),
        (
            not (config.attention_bias or config.attention_out_bias or config.mlp_bias),
            "biases of projections",
        ),
    )
    yield from (f"it has no place for {what}" for holds, what in plain if not holds)
    if config.attention_scale != attention_scale(config.head_dim):
        yield f"scores are scaled by {config.attention_scale}, not by 1 / sqrt(head_dim)"
    if config.rope_order != "none":
        yield from _rotation_reasons(config)


def _rotation_reasons(config: EffectiveConfig) -> Iterator[str]:
    pairs, half = len(config.rope_inv_freq), config.head_dim // 2
    if config.rope_local_inv_freq:
        yield "it has no place for frequencies of sliding layers"
    if pairs != half:
        yield f"{2 * pairs} of {config.head_dim} coordinates of a head rotate, not all"
    elif far := _not_of_the_base(config):
        yield f"{far} of {half} rotary frequencies do not follow from the base alone"


#: Half units in the last place beside the rounding of the exponent: a power within one unit, its
#: reciprocal, and our own rounding.
_HALF_UNITS = 4


def _not_of_the_base(config: EffectiveConfig) -> int:
    """How many frequencies are not 1 / theta^(2i/E) as float32 arithmetic may give it.

    A framework rounds the exponent 2i/E to float32 first, which moves the power by a relative
    ln(theta) * (2i/E) * 2^-24; half a unit in the last place of the power itself is at most 2^-24.
    """
    log, width = math.log(config.rope_theta), config.head_dim
    derived = inverse_frequencies(config.rope_theta, width)
    bounds = [(log * 2 * i / width + _HALF_UNITS) * 2.0**-24 for i in range(len(derived))]
    rows = zip(config.rope_inv_freq, derived, bounds, strict=True)
    return sum(abs(own - ours) > ours * bound for own, ours, bound in rows)


def frequencies_that_differ(config: EffectiveConfig) -> int:
    """How many frequencies a reader of SLM1 derives with other bits than the source's."""
    derived = inverse_frequencies(config.rope_theta, config.head_dim)
    return sum(a != b for a, b in zip(config.rope_inv_freq, derived, strict=True))


def _token_reasons(config: EffectiveConfig, vocab: int, ids: Ids) -> Iterator[str]:
    if vocab != config.vocab_size:
        yield f"the tokenizer has {vocab} ids, the model {config.vocab_size}"
    if len(config.eos_token_id) != 1:
        yield f"it has one stop token, the model {len(config.eos_token_id)}"
    elif config.eos_token_id[0] != ids[1]:
        yield f"the model stops at {config.eos_token_id[0]}, its tokenizer ends with {ids[1]}"
    named = zip(
        ("BOS", "PAD", "UNK"),
        (config.bos_token_id, config.pad_token_id, config.unk_token_id),
        (ids[0], ids[2], ids[3]),
        strict=True,
    )
    for name, wanted, got in named:
        # A model that pads with its stop token has no id for padding.
        if wanted is not None and wanted != got and (name != "PAD" or wanted != ids[1]):
            yield f"{name} is {wanted} in the model, {got} in the tokenizer"
