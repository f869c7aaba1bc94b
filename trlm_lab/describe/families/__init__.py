"""One file a model family: its closed configuration schema, and what its class fixes."""

from trlm_lab.describe.families.family import Family
from trlm_lab.describe.families.gemma2 import GEMMA2
from trlm_lab.describe.families.gemma3 import GEMMA3
from trlm_lab.describe.families.generation import GENERATION_SCHEMA
from trlm_lab.describe.families.gpt2 import GPT2
from trlm_lab.describe.families.llama import LLAMA
from trlm_lab.describe.families.mistral import MISTRAL
from trlm_lab.describe.families.olmo2 import OLMO2
from trlm_lab.describe.families.phi3 import PHI3
from trlm_lab.describe.families.qwen2 import QWEN2
from trlm_lab.describe.families.qwen3 import QWEN3

#: Every family with a schema, by its `model_type`.
FAMILIES: dict[str, Family] = {
    family.model_type: family
    for family in (LLAMA, MISTRAL, QWEN2, QWEN3, GEMMA2, GEMMA3, GPT2, OLMO2, PHI3)
}

__all__ = ["FAMILIES", "GENERATION_SCHEMA", "Family"]
