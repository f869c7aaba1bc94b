"""The claims of a run, one row each, never one Boolean; and the promotion node that binds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trlm_lab.base.records import SOUND, CaseComparison, Outcome
from trlm_lab.base.records.outcome import worst

if TYPE_CHECKING:
    from trlm_lab.flows.run import Run


@dataclass(frozen=True)
class Claim:
    """One claim level for one engine and artifact, its outcome and the node that shows it."""

    level: str
    claim: str
    engine: str
    artifact: str
    outcome: Outcome
    detail: str
    evidence: str

    def row(self) -> dict[str, Any]:
        """JSON-ready row."""
        return {**vars(self), "outcome": self.outcome.value}


def claims(run: Run) -> list[Claim]:
    """Every claim that the run makes, in order of level."""
    return [
        *_source_claims(run),
        *_artifact_claims(run),
        _oracle_claim(run),
        *_exact_claims(run),
        *_bound_claims(run),
        *_missing_claims(run),
    ]


def _missing_claims(run: Run) -> list[Claim]:
    """Engines that failed or were not found: never a pass, and never silent."""
    subject = run.described.nodes["effective_config"]
    rows = [
        Claim("C8 logits", "the engine runs", f.task.engine, f.task.label, f.outcome,
              f.error.text, run.packed[f.task.label].nodes["artifact"])
        for f in run.failures
    ]  # fmt: skip
    for line in run.plan.absent:
        name, _, remedy = line.partition(": ")
        rows.append(
            Claim("C7 layers", "the engine runs", name, "", Outcome.NOT_SUPPORTED, remedy, subject)
        )
    return rows


def _source_claims(run: Run) -> list[Claim]:
    files = len(run.source.snapshot.files)
    texts = sum(c.kind == "text" for c in run.judged_suite.cases)
    has_tokenizer = (run.source.root / "tokenizer.json").exists()
    tokenizer = Claim(
        "C1 tokenizer",
        "ids of the text cases equal the source tokenizer's",
        "source",
        "",
        Outcome.MATCH if has_tokenizer and texts else Outcome.NOT_SUPPORTED,
        f"{texts} texts tokenized again" if has_tokenizer else "the source has no tokenizer",
        run.source.nodes["source_tree"],
    )
    return [
        Claim("C0 source", "bytes are those of the pin", "source", "", Outcome.MATCH,
              f"{files} files hashed", run.source.nodes["source_tree"]),
        tokenizer,
        Claim("C3 configuration", "every field declared and materialised", "source", "",
              Outcome.MATCH, run.described.defaults.framework,
              run.described.nodes["effective_config"]),
    ]  # fmt: skip


def _artifact_claims(run: Run) -> list[Claim]:
    rows = []
    for label, packed in run.packed.items():
        tensors = len(packed.ledger.entries)
        rows.append(
            Claim("C4 tensors", "the ledger is a bijection or says why not", "packer", label,
                  Outcome.MATCH, f"{tensors} entries, hashes recomputed on both sides",
                  packed.nodes["ledger"])
        )  # fmt: skip
        rows.append(
            Claim("C5 pack", "an independent reader confirms every hash and code", "inspector",
                  label, Outcome.MATCH, f"{packed.artifact.size:,} bytes",
                  packed.nodes["inspection"])
        )  # fmt: skip
    return rows


def _oracle_claim(run: Run) -> Claim:
    return Claim("C8 logits", "the oracle's hooks change no bit", "torch", "", Outcome.MATCH,
                 "logits with every checkpoint captured and without", run.hooks_node)  # fmt: skip


def _exact_claims(run: Run) -> list[Claim]:
    rows = []
    for label, exact in run.exactness.items():
        first = exact.engines[0]
        for engine, equal in exact.equal.items():
            # The first engine is what the others are held to; it makes no claim of its own here.
            if engine == first:
                continue
            detail = f"{equal:,} of {exact.total:,} arrays have the SHA-256 of {first}'s"
            if equal < exact.total:
                detail += f"; first parting: {exact.first_parting(engine)}"
            outcome = Outcome.MATCH if equal == exact.total else Outcome.WRONG
            rows.append(
                Claim("C7 layers", "same bits in scalar-f32-v1", engine, label, outcome, detail,
                      exact.node)
            )  # fmt: skip
    return rows


def _bound_claims(run: Run) -> list[Claim]:
    rows = []
    for (engine, label), judged in run.judged.items():
        layers, logits = _split(judged.comparison.cases)
        for level, outcomes in (("C7 layers", layers), ("C8 logits", logits)):
            if not outcomes:
                continue
            rows.append(
                Claim(level, "within the frozen limit of the torch oracle", engine, label,
                      worst(outcomes), f"{len(outcomes):,} checkpoints, {_spread(outcomes)}",
                      judged.node)
            )  # fmt: skip
    return rows


def _split(cases: tuple[CaseComparison, ...]) -> tuple[list[Outcome], list[Outcome]]:
    layers: list[Outcome] = []
    logits: list[Outcome] = []
    for case in cases:
        for point in case.checkpoints:
            (logits if point.checkpoint == "logits" else layers).append(point.outcome)
    return layers, logits


def _spread(outcomes: list[Outcome]) -> str:
    counts = {o: outcomes.count(o) for o in Outcome}
    return ", ".join(f"{n} {o.value}" for o, n in counts.items() if n)


def promote(run: Run, rows: list[Claim]) -> str:
    """Write the promotion node: the conjunction of the claims, each with its evidence."""
    # An unstable oracle is shown, and is nobody's fault; what an engine cannot do is no failure.
    neither = (Outcome.NOT_SUPPORTED, Outcome.UNSTABLE_ORACLE)
    sound = all(c.outcome in SOUND or c.outcome in neither for c in rows)
    planted = run.planted
    evidence = list(dict.fromkeys(c.evidence for c in rows))
    if planted is not None:
        evidence.append(planted.node)
        sound = sound and planted.named
    return run.ws.store.add(
        "promotion",
        {
            "claims_blob": run.ws.store.put_value([c.row() for c in rows]),
            "holds": sound,
        },
        evidence,
    )
