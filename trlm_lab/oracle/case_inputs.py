"""A case as the tensors that the source's forward pass takes, alone or in a padded batch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from trlm_lab.base.names import parse_checkpoint
from trlm_lab.base.records import Case, Observation

Sink = Callable[[Observation], None]


def input_tensors(case: Case) -> dict[str, torch.Tensor]:
    """The case as a batch of one.

    Both positions and mask are always given: without a mask the source reads a jump in the
    positions as the start of another packed text.
    """
    tokens = len(case.token_ids)
    rows = {
        "input_ids": case.token_ids,
        "position_ids": case.position_ids or tuple(range(tokens)),
        "attention_mask": case.attention_mask or (1,) * tokens,
    }
    return {name: torch.tensor([row], dtype=torch.int64) for name, row in rows.items()}


def padded_batch(case: Case, context: int) -> dict[str, torch.Tensor]:
    """A batch of two: the case padded with hidden tokens, and one of up to twice its tokens."""
    alone, tokens = input_tensors(case), len(case.token_ids)
    longer = input_tensors(Case(case.case_id, (case.token_ids * 2)[: min(2 * tokens, context)]))
    extra = longer["input_ids"].shape[1] - tokens
    padding = {name: torch.zeros((1, extra), dtype=torch.int64) for name in alone}
    padding["position_ids"] = longer["position_ids"][:, tokens:]
    return {
        name: torch.cat([torch.cat([alone[name], padding[name]], dim=1), longer[name]])
        for name in alone
    }


def first_tokens(tokens: int, sink: Sink) -> Sink:
    """Keep the first `tokens` queries and keys of every checkpoint."""

    def cut(seen: Observation) -> None:
        axes = parse_checkpoint(seen.name).axes
        places = tuple(slice(tokens) if axis in ("T", "S") else slice(None) for axis in axes)
        sink(Observation(seen.name, np.ascontiguousarray(seen.values[places])))

    return cut
