"""The families that the oracle runs: their names in the source, and the trait no module shows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """A `model_type`, and the classes of transformers that read and run it.

    `heads_first`: its norms of queries and keys see (heads, tokens) rather than (tokens, heads).
    """

    model_type: str
    config_class: str
    model_class: str
    heads_first: bool = False

    @property
    def sources(self) -> tuple[str, ...]:
        """The family's source files below the transformers package."""
        package = self.model_type.removesuffix("_text")
        kinds = ("configuration", "modeling")
        return tuple(f"models/{package}/{kind}_{package}.py" for kind in kinds)


_ROWS = (
    Family("llama", "LlamaConfig", "LlamaForCausalLM"),
    Family("mistral", "MistralConfig", "MistralForCausalLM"),
    Family("qwen2", "Qwen2Config", "Qwen2ForCausalLM"),
    Family("qwen3", "Qwen3Config", "Qwen3ForCausalLM"),
    Family("gemma2", "Gemma2Config", "Gemma2ForCausalLM"),
    Family("gemma3_text", "Gemma3TextConfig", "Gemma3ForCausalLM", heads_first=True),
    Family("gpt2", "GPT2Config", "GPT2LMHeadModel"),
    Family("olmo2", "Olmo2Config", "Olmo2ForCausalLM"),
    Family("phi3", "Phi3Config", "Phi3ForCausalLM"),
)

FAMILIES: dict[str, Family] = {family.model_type: family for family in _ROWS}
