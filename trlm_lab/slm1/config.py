"""The effective configuration that an SLM1 header and its tokenizer say."""

from __future__ import annotations

from trlm_lab.base.records import EffectiveConfig
from trlm_lab.slm1.frequencies import attention_scale, inverse_frequencies
from trlm_lab.slm1.read import Slm1File


def effective_config(slm1: Slm1File) -> EffectiveConfig:
    """A plain llama whose queries and keys are stored in interleaved pairs.

    Frequencies and the scale of the scores follow from the header by `frequencies`.
    """
    header = slm1.header
    bos, eos, pad, unk = slm1.special_ids
    return EffectiveConfig(
        model_type="llama",
        vocab_size=header.vocab,
        hidden_size=header.hidden,
        intermediate_size=header.ffn,
        num_hidden_layers=header.layers,
        num_attention_heads=header.heads,
        num_key_value_heads=header.kv_heads,
        head_dim=header.head_dim,
        max_position_embeddings=header.max_context,
        rms_norm_eps=header.rms_eps,
        layer_norm_epsilon=None,
        norm_unit_offset=False,
        norm_placement="pre",
        qk_norm="none",
        rope_theta=header.rope_theta,
        rope_inv_freq=inverse_frequencies(header.rope_theta, header.head_dim),
        rope_order="interleaved",
        rope_attention_factor=1.0,
        rope_local_base_freq=None,
        rope_local_inv_freq=(),
        attention_scale=attention_scale(header.head_dim),
        attn_logit_softcapping=None,
        final_logit_softcapping=None,
        sliding_window=None,
        layer_types=("full_attention",) * header.layers,
        hidden_act="silu",
        mlp_gated=True,
        embedding_scale=1.0,
        tie_word_embeddings=header.tied,
        attention_bias=False,
        attention_out_bias=False,
        mlp_bias=False,
        bos_token_id=bos,
        eos_token_id=(eos,),
        pad_token_id=pad,
        unk_token_id=unk,
    )
