#!/usr/bin/env python3
"""Train a small llama on public-domain text: the model whose quantization figures are evidence.

python tools/train_text_model.py [--out DIR] [--steps N]

First fetch the texts (tools/fetch_text.py). Everything that decides the weights is in `Recipe`; the
same lock, processor features and thread count give the same bits. The directory holds config,
weights, tokenizer and `training.json`: the recipe, the perplexity on held-out documents and that of
a unigram model with one count added to every id.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import tokenizers
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from trlm_lab.acquire.text_data import documents, text_packages
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.home import trlm_home

NAME = "text-llama"
BOS, EOS = "<s>", "</s>"
HELD_OUT_TOKENS = 32_768


@dataclass(frozen=True)
class Recipe:
    """Shapes are multiples of 256, so that every block format of both sides has whole groups."""

    vocab: int = 2048
    hidden: int = 256
    layers: int = 4
    heads: int = 4
    kv_heads: int = 2
    ffn: int = 768
    context: int = 256
    batch: int = 8
    steps: int = 480
    warmup: int = 40
    rate: float = 3e-3
    decay: float = 0.1
    seed: int = 20260801
    threads: int = 1


def train_tokenizer(texts: list[str], recipe: Recipe) -> Tokenizer:
    """A byte-level BPE vocabulary of the training documents."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=recipe.vocab,
        special_tokens=[BOS, EOS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def stream_of(tokenizer: Tokenizer, texts: list[str]) -> np.ndarray:
    """The ids of all texts, one begin-of-text id before each."""
    bos = tokenizer.token_to_id(BOS)
    rows = [np.asarray([bos, *e.ids], np.int64) for e in tokenizer.encode_batch(texts)]
    return np.concatenate(rows)


def unigram_perplexity(train: np.ndarray, held: np.ndarray, vocab: int) -> float:
    """Of the held-out ids under the training ids' counts, one added to each."""
    counts = np.bincount(train, minlength=vocab).astype(np.float64) + 1.0
    return float(np.exp(-np.log(counts / counts.sum())[held].mean()))


def model_of(recipe: Recipe) -> transformers.LlamaForCausalLM:
    """The untrained model."""
    config = transformers.LlamaConfig(
        vocab_size=recipe.vocab,
        hidden_size=recipe.hidden,
        intermediate_size=recipe.ffn,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        num_key_value_heads=recipe.kv_heads,
        head_dim=recipe.hidden // recipe.heads,
        max_position_embeddings=recipe.context,
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
        bos_token_id=0,
        eos_token_id=1,
        attn_implementation="sdpa",
    )
    torch.manual_seed(recipe.seed)
    return transformers.LlamaForCausalLM(config)


def rate_at(step: int, recipe: Recipe) -> float:
    """Linear warm-up, then a cosine down to a twentieth."""
    if step < recipe.warmup:
        return recipe.rate * (step + 1) / recipe.warmup
    done = (step - recipe.warmup) / max(1, recipe.steps - recipe.warmup)
    return recipe.rate * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * done)))


def train(model: torch.nn.Module, ids: np.ndarray, recipe: Recipe) -> None:
    """AdamW over seeded windows of the stream."""
    matrices = [p for p in model.parameters() if p.ndim == 2]
    vectors = [p for p in model.parameters() if p.ndim != 2]
    optimizer = torch.optim.AdamW(
        [
            {"params": matrices, "weight_decay": recipe.decay},
            {"params": vectors, "weight_decay": 0.0},
        ],
        lr=recipe.rate,
        betas=(0.9, 0.95),
    )
    draw = np.random.Generator(np.random.Philox(recipe.seed))
    begun = time.monotonic()
    for step in range(recipe.steps):
        starts = draw.integers(0, len(ids) - recipe.context - 1, recipe.batch)
        batch = torch.from_numpy(np.stack([ids[s : s + recipe.context + 1] for s in starts]))
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, recipe)
        logits = model(batch[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(
            logits.reshape(-1, recipe.vocab), batch[:, 1:].reshape(-1)
        )
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 20 == 0 or step == recipe.steps - 1:
            print(
                f"step {step}: loss {loss.item():.3f}, {time.monotonic() - begun:.0f} s", flush=True
            )


@torch.no_grad()
def perplexity(model: torch.nn.Module, ids: np.ndarray, recipe: Recipe) -> float:
    """Of the ids after the first of every window."""
    total, count = 0.0, 0
    for low in range(0, len(ids) - 1, recipe.context):
        window = torch.from_numpy(ids[low : low + recipe.context + 1])[None]
        logits = model(window[:, :-1]).logits[0]
        total += torch.nn.functional.cross_entropy(logits, window[0, 1:], reduction="sum").item()
        count += window.shape[1] - 1
    return math.exp(total / count)


def main(arguments: list[str]) -> int:
    """Train, measure, write; exit status 1 where the model is no evidence."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=trlm_home() / "trained" / NAME)
    parser.add_argument("--steps", type=int, default=Recipe.steps)
    given = parser.parse_args(arguments)
    recipe = Recipe(steps=given.steps)
    torch.set_num_threads(recipe.threads)
    torch.use_deterministic_algorithms(True)
    texts = [d.text for d in documents("train")]
    tokenizer = train_tokenizer(texts, recipe)
    ids = stream_of(tokenizer, texts)
    held = stream_of(tokenizer, [d.text for d in documents("held-out")])[: HELD_OUT_TOKENS + 1]
    model = model_of(recipe)
    size = sum(p.numel() for p in model.parameters())
    print(f"{size} parameters, {len(ids)} ids to train on", flush=True)
    train(model, ids, recipe)
    model.eval()
    given.out.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(given.out)
    tokenizer.save(str(given.out / "tokenizer.json"))
    special = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": BOS, "eos_token": EOS}
    (given.out / "tokenizer_config.json").write_text(json.dumps(special, indent=1) + "\n")
    own, unigram = perplexity(model, held, recipe), unigram_perplexity(ids, held, recipe.vocab)
    report = {
        "schema": "trlm.trained_model.v1",
        "recipe": asdict(recipe),
        "script_sha256": hashlib.sha256(Path(__file__).read_bytes()).hexdigest(),
        "texts": {n: p.archive.file.sha256 for n, p in text_packages().items()},
        "versions": {m.__name__: m.__version__ for m in (torch, transformers, tokenizers)},
        "parameters": size,
        "weights_sha256": file_sha256(given.out / "model.safetensors"),
        "held_out": {"ids": len(held) - 1, "perplexity": own, "unigram_perplexity": unigram},
    }
    (given.out / "training.json").write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report["held_out"]))
    return 0 if size >= 3_000_000 and own <= unigram / 2 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
