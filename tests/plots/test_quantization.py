"""Bits against divergence: every row is drawn, and the reading says the best pair."""

from typing import Any

from trlm_lab import plots


def row(form: str, algorithm: str, bits: float, kl: float) -> dict[str, Any]:
    return {
        "pair": "q4_g64 / Q4_0", "format": form, "algorithm": algorithm, "bits a weight": bits,
        "mean KL": kl, "tokens": 512,
    }  # fmt: skip


ROWS = [
    {**row("source", "", 32.0, 0.0), "pair": "f32 / f32"},
    row("Q4_0", "llama.cpp", 4.5, 0.004),
    row("q4_g64", "round", 4.25, 0.006),
    row("q4_g64", "gptq", 4.25, 0.003),
]


def test_the_reading_names_the_best_of_ours() -> None:
    drawn = plots.bits_against_kl(ROWS, subject="tiny")
    assert drawn.table == ROWS
    assert drawn.reading == (
        "q4_g64 by error-compensating has 0.75 times the KL of Q4_0 at 4.25 and 4.50 bits."
    )
    axes = drawn.figure.axes[0]
    assert [line.get_label() for line in axes.get_lines()] == [
        "llama.cpp", "rounding", "error-compensating",
    ]  # fmt: skip
    assert "512 held-out tokens" in axes.texts[-1].get_text()


def test_without_a_peer_it_says_so() -> None:
    drawn = plots.bits_against_kl([r for r in ROWS if r["algorithm"] != "llama.cpp"])
    assert drawn.reading == "There is no peer to hold it against."
