"""How records look in Jupyter. The records know nothing of it; `register` tells IPython.

Formatters are registered by the name of a class, so that nothing is imported before it is shown.
"""

from __future__ import annotations

import html
import sys
from collections.abc import Callable
from typing import Any

from trlm_lab.base.records import (
    FAULTS,
    SOUND,
    Artifact,
    Comparison,
    Mismatch,
    Outcome,
    TolerancePolicy,
)
from trlm_lab.flows.bit_fields import mismatch_bits, steps_apart
from trlm_lab.flows.tables import Table, limit_rows, worst_rows

_COLOURS = {"sound": "#0b6e4f", "fault": "#b3261e", "open": "#8a5a00"}


def badge(outcome: Outcome) -> str:
    """The outcome in its colour; the word itself says it too."""
    kind = "sound" if outcome in SOUND else "fault" if outcome in FAULTS else "open"
    return f"<strong style='color:{_COLOURS[kind]}'>{outcome.value}</strong>"


def comparison_html(found: Comparison) -> str:
    """Outcome, a row a case, and the checkpoints nearest to their limit."""
    cases = [
        {
            "case": case.case_id,
            "outcome": case.outcome.value,
            "checkpoints": len(case.checkpoints),
            **{
                o.value: n
                for o in Outcome
                if (n := sum(p.outcome is o for p in case.checkpoints))
                or any(p.outcome is o for c in found.cases for p in c.checkpoints)
            },
        }
        for case in found.cases
    ]
    head = (
        f"<p>{badge(found.outcome)} of {len(found.cases)} cases; "
        f"policy <code>{(found.policy_id or 'none')[:12]}</code></p>"
    )
    worst = Table(worst_rows(found, count=6), "nearest to, or furthest beyond, their limit")
    return head + Table(cases)._repr_html_() + worst._repr_html_()


def mismatch_html(found: Mismatch) -> str:
    """Verdict, place and the two bit patterns of the first failing element."""
    facts: list[dict[str, Any]] = [
        {"": name, "value": value}
        for name, value in (
            ("boundary", found.boundary), ("last sound", found.after), ("case", found.case_id),
            ("index", found.index), ("steps apart", steps_apart(found)),
            ("largest error", found.max_abs), ("limit", found.limit),
            ("boundaries judged", found.verified), ("note", found.note or None),
        )
        if value is not None
    ]  # fmt: skip
    return f"<p>{badge(found.verdict)}</p>{Table(facts)._repr_html_()}{bits_html(found)}"


def bits_html(found: Mismatch) -> str:
    """Both words as sign, exponent and significand; digits that differ are marked."""
    rows = "".join(
        f"<tr><th scope='row' style='text-align:left'>{row['side']}</th>"
        f"<td>{row['value']}</td><td><code>{row['hex']}</code></td>"
        f"<td><code>{row['marked']}</code></td></tr>"
        for row in mismatch_bits(found)
    )
    names = ("", "value", "hex", "sign exponent significand")
    head = "".join(f"<th scope='col'>{name}</th>" for name in names)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>" if rows else ""


def policy_html(policy: TolerancePolicy) -> str:
    """What the policy binds, and the limits of each operator over the layers."""
    head = (
        f"<p><strong>{html.escape(policy.name)}</strong> version {policy.version}: "
        f"{policy.factor:g} times the larger noise, {len(policy.entries)} checkpoints, frozen as "
        f"<code>{policy.policy_id[:12]}</code> from {len(policy.calibration_cases)} cases</p>"
    )
    return head + Table(limit_rows(policy))._repr_html_()


def artifact_html(artifact: Artifact) -> str:
    """Identity of a packed file and the shape of the model in it."""
    c = artifact.config
    facts = {
        "file": artifact.path.name, "format": artifact.format, "profile": artifact.quant_profile,
        "bytes": artifact.size, "SHA-256 of the file": artifact.file_sha256,
        "own hash": artifact.self_sha256, "Merkle root": artifact.merkle_root,
        "model": f"{c.model_type}, {c.num_hidden_layers} layers, hidden {c.hidden_size}, "
                 f"{c.num_attention_heads}/{c.num_key_value_heads} heads of {c.head_dim}, "
                 f"vocabulary {c.vocab_size}",
    }  # fmt: skip
    return Table([{"": k, "value": v} for k, v in facts.items()])._repr_html_()


def claim_html(claim: Any) -> str:
    """One claim as one sentence with its outcome."""
    words = f"{claim.level}: {claim.claim}; {claim.engine} {claim.artifact}: {claim.detail}"
    return f"<p>{badge(claim.outcome)} {html.escape(words)} <code>{claim.evidence[:12]}</code></p>"


#: Class, by module and name, to what shows it.
VIEWS: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    (Comparison.__module__, "Comparison", comparison_html),
    (Mismatch.__module__, "Mismatch", mismatch_html),
    (TolerancePolicy.__module__, "TolerancePolicy", policy_html),
    (Artifact.__module__, "Artifact", artifact_html),
    ("trlm_lab.flows.claim_rows", "Claim", claim_html),
    ("trlm_lab.flows.judgement", "Judged", lambda j: comparison_html(j.comparison)),
    ("trlm_lab.flows.planted", "Planted", lambda p: mismatch_html(p.mismatch)),
    ("trlm_lab.flows.packing", "Packed", lambda p: artifact_html(p.artifact)),
    ("trlm_lab.flows.calibration", "Calibrated", lambda c: policy_html(c.policy)),
)


def register() -> bool:
    """Tell a running IPython how records look; whether there is one to tell."""
    if "IPython" not in sys.modules:
        return False
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    if shell is None:
        return False
    formatter = shell.display_formatter.formatters["text/html"]
    for module, name, view in VIEWS:
        formatter.for_type_by_name(module, name, view)
    return True
