"""A climbed ladder as tables and as one JSON document."""

from __future__ import annotations

from typing import Any

import numpy as np

from trlm_lab.flows.quant_ladder.climb import Ladder
from trlm_lab.flows.quant_ladder.element import element_rows
from trlm_lab.flows.quant_ladder.rung import Rung
from trlm_lab.metrics import position_figures

Row = dict[str, Any]


def rung_rows(ladder: Ladder) -> list[Row]:
    """The table for people: one row a rung."""
    return [_row(rung) for rung in ladder.rungs]


def _row(rung: Rung) -> Row:
    first = rung.first
    said = f"{first['by']} at {first['index']}: {first['claimed']}" if first else ""
    said += f", follows {first['follows']}" if first else ""
    refused = "; ".join(f"{by}: {why}" for by, why in rung.refused.items())
    cost = rung.cost
    return {
        "": rung.number,
        "rung": rung.name,
        "outcome": rung.outcome.value,
        "values": rung.elements,
        "said by": ", ".join(rung.differing),
        "checked by": rung.checked_by,
        "from the source": f"{cost.relative:.2e}" if cost else "",
        "first difference": said or refused or rung.note or rung.unreached or rung.unchecked,
    }


def consequences(ladder: Ladder) -> Row:
    """What the artifact's weights do to the choice of a token, beside the source's own."""
    if ladder.upper.refused:
        return {"refused": ladder.upper.refused}
    seen, before = ladder.upper.seen["logits"], ladder.upper.source.get("logits")
    token = int(seen[-1].argmax())
    if before is None:
        return {"token": token}
    figures = position_figures(before[-1:], seen[-1:])
    return {
        "token": token,
        "token of the source": int(before[-1].argmax()),
        "margin of the source": float(figures.margin[0]),
        "KL": float(figures.kl_forward[0]),
        "largest change of a logit": float(np.abs(before[-1] - seen[-1]).max()),
    }


def ladder_document(ladder: Ladder, column: int | None = None) -> Row:
    """The `--json` document; with `column` the element, too."""
    subject = ladder.subject
    document: Row = {
        "tensor": subject.name,
        "role": subject.role,
        "shape": [subject.rows, subject.cols],
        "rows": list(ladder.span),
        "profile": subject.profile,
        "storage": subject.stored.storage.name,
        "scales": subject.stored.storage.scales,
        **subject.ids,
        "codes_id": subject.codes.codes_id if subject.codes else None,
        "case": list(ladder.upper.case.token_ids),
        "engine": ladder.upper.engine,
        "missing": ladder.missing,
        "named": ladder.named,
        "rungs": [rung_map(rung) for rung in ladder.rungs],
        "consequences": consequences(ladder),
    }
    if column is not None:
        document["element"] = {"column": column, "rows": element_rows(ladder, column)}
    return document


def rung_map(rung: Rung) -> Row:
    """Everything a rung says, but for its arrays."""
    claims = {
        by: {
            "sha256": sha256,
            "differing": rung.differing[by],
            "refused": rung.refused.get(by, ""),
            "part": by in rung.partial,
        }
        for by, sha256 in rung.claimed.items()
    }
    cost = rung.cost
    return {
        "number": rung.number,
        "rung": rung.name,
        "outcome": rung.outcome.value,
        "values": rung.elements,
        "claims": claims,
        # Whose values the next rung starts from, unless they were refused.
        "first_claim": next(iter(claims), ""),
        "follows": rung.checked,
        "checked_by": rung.checked_by,
        "first": rung.first,
        "note": rung.note,
        "unchecked": rung.unchecked,
        "unreached": rung.unreached,
        "from_source": cost and {"largest": cost.largest, "relative": cost.relative},
    }
