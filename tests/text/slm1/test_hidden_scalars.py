"""The set that the Rust runtime writes for SLM1's tokenizers is the library's own."""

from tools import slm1_hidden_scalars


def test_the_committed_set() -> None:
    assert slm1_hidden_scalars.main(["--check"]) == 0
