"""What a report shows beside the claims: the summary, first mismatches, unstable places, limits
of what was proved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trlm_lab.base.records import SOUND, Mismatch, Outcome
from trlm_lab.flows.bit_fields import mismatch_bits, steps_apart
from trlm_lab.receipts import walk

if TYPE_CHECKING:
    from trlm_lab.flows.judgement import Exactness, Judged
    from trlm_lab.flows.promotion import Claim
    from trlm_lab.flows.run import Run

#: The levels of docs/claims.
LEVELS = {
    "C0": "source bytes", "C1": "tokenizer", "C2": "chat template", "C3": "configuration",
    "C4": "tensors", "C5": "pack", "C6": "single operators", "C7": "layers", "C8": "logits",
    "C9": "sampler", "C10": "generation", "C11": "conversation", "C12": "distribution",
    "C13": "sealed behavior", "C14": "promotion of a model",
}  # fmt: skip


def summary_lines(run: Run) -> list[str]:
    """The run in a few sentences, each computed from its records."""
    lines = [_exact_line(exact) for exact in run.exactness.values()]
    lines += [_bound_line(*key, judged) for key, judged in run.judged.items()]
    if run.planted is not None:
        answer = "was named" if run.planted.named else "was NOT named"
        lines.append(
            f"The planted fault {run.planted.fault} {answer} at {run.planted.mismatch.boundary}."
        )
    return lines


def _exact_line(exact: Exactness) -> str:
    parted = [e for e, n in exact.equal.items() if n != exact.total]
    if parted:
        return f"On {exact.artifact} {', '.join(parted)} parted from {exact.engines[0]}."
    return (
        f"On {exact.artifact} {len(exact.engines)} engines computed the same bits of "
        f"{exact.profile} in all {exact.total:,} arrays."
    )


def _bound_line(engine: str, label: str, judged: Judged) -> str:
    shares = [
        (p.metrics.max_abs / p.limit, p.checkpoint)
        for case in judged.comparison.cases
        for p in case.checkpoints
        if p.metrics is not None and p.limit
    ]
    if not shares:
        return f"{engine} on {label}: {judged.comparison.outcome.value}."
    share, where = max(shares)
    return (
        f"{engine} on {label}: {judged.comparison.outcome.value} against the oracle; its largest "
        f"error is {share:.0%} of the limit, at {where}."
    )


def mismatch_card(found: Mismatch, heading: str, words: str, sound: bool) -> dict[str, Any]:
    """One first mismatch for the page: where, which bits, how large, what was looked at."""
    facts = {
        "case": found.case_id,
        "boundary": found.boundary,
        "last sound boundary": found.after,
        "first failing index": None if found.index is None else list(found.index),
        "float32 steps apart": steps_apart(found),
        "largest error": found.max_abs,
        "frozen limit": found.limit,
        "boundaries judged": found.verified,
    }
    return {
        "heading": heading,
        "words": words,
        "verdict": found.verdict.value,
        "sound": sound,
        "facts": {k: v for k, v in facts.items() if v is not None},
        "bits": mismatch_bits(found),
        "examined": list(found.examined),
        "note": found.note,
    }


def mismatch_cards(run: Run) -> list[dict[str, Any]]:
    """Real mismatches of judged engines first, then the planted one."""
    cards = [
        mismatch_card(j.mismatch, f"{engine} on {label}", "Nothing was planted here.", False)
        for (engine, label), j in run.judged.items()
        if j.mismatch.boundary is not None
    ]
    planted = run.planted
    if planted is not None:
        words = (
            f"{planted.fault} was planted in the running reference engine after its artifact "
            f"({run.plan.artifacts[0]}) had been admitted. The judge knows only the oracle and the "
            f"frozen limits. Expected, and written down before any run: {planted.expected}."
        )
        heading = "Planted fault, named" if planted.named else "Planted fault, NOT named"
        cards.append(mismatch_card(planted.mismatch, heading, words, planted.named))
    return cards


def unstable_rows(run: Run) -> list[dict[str, Any]]:
    """Every place where the oracle itself was too noisy to judge, and the third run's figures."""
    return [
        {
            "engine": engine,
            "artifact": label,
            "case": case.case_id,
            "checkpoint": p.checkpoint,
            "error": None if p.metrics is None else p.metrics.max_abs,
            "limit": p.limit,
            "why": p.note or "the oracle's own noise is above the limit",
        }
        for (engine, label), judged in run.judged.items()
        for case in judged.comparison.cases
        for p in case.checkpoints
        if p.outcome is Outcome.UNSTABLE_ORACLE
    ]


def third_run_cases(run: Run) -> list[str]:
    """`artifact case` of every case whose own noise had to be measured."""
    return [f"{label} {case}" for label, third in run.conditioning.items() for case in third.known]


def resolution_rows(run: Run, promotion: str) -> list[dict[str, Any]]:
    """Reviewed decisions between contradicting declarations, each with its deviation statement."""
    return [
        {
            "settles": node.metadata["code"],
            "field": node.metadata["field"],
            "kind": node.metadata["kind"],
            "statement": node.metadata["statement"],
            "SHA-256 of the file": node.metadata["file_sha256"],
            "node": node_id[:12],
        }
        for node_id, node in walk(run.ws.store, promotion)
        if node.type == "resolution"
    ]


def unproved(run: Run, claims: list[Claim]) -> list[tuple[str, str]]:
    """(what, why) of everything that a reader might take for proved and that is not."""
    suite = run.judged_suite
    longest = max(len(c.token_ids) for c in suite.cases)
    made = {c.level.split()[0] for c in claims}
    left = [f"{level} {words}" for level, words in LEVELS.items() if level not in made]
    logits = run.policy(run.plan.artifacts[0]).entry("logits")
    rows = [
        ("Other inputs", f"{len(suite.cases)} cases with {suite.tokens} tokens were judged, the "
         f"longest has {longest}. Nothing is said of longer contexts or other ids."),
        ("That the engines are right because they agree", "Engines of one exact profile follow one "
         "specification. A mistake in it is seen only against the oracle, within the limits."),
        ("Faults below the limits", "An error smaller than a frozen limit passes as DRIFT"
         + ("." if logits is None else f"; at the logits the limit is {logits.limit:.3g}.")),
        ("That the source framework is right", "It is the measure. What it computes is taken for "
         "what the model means."),
        ("Claims that were not made", ", ".join(left) + "." if left else "All levels were made."),
        ("Any other build or implementation", "The claims hold for the builds listed above, on the "
         "machine listed above, and for no runtime that is not in the list."),
    ]  # fmt: skip
    silent = [c for c in claims if c.outcome not in SOUND]
    if silent:
        places = dict.fromkeys(f"{c.engine}: {c.outcome.value}" for c in silent)
        rows.append(("What did not run or could not be judged", "; ".join(places) + "."))
    if run.source.on_grid:
        rows.append(("What quantization costs a float model", run.source.on_grid))
    return rows
