"""Whether a model can be asked the cases of a suite, before anything is computed."""

from __future__ import annotations

from trlm_lab.base.case_rules import check_case
from trlm_lab.base.records import CaseSuite, EffectiveConfig


def require_fit(suite: CaseSuite, config: EffectiveConfig) -> None:
    """Refuse a suite that holds a case outside the model's vocabulary or context.

    Raises:
        TokenRangeError, ContextLengthError, PositionRangeError, MaskValueError,
        AllKeysMaskedError: as `base.case_rules.check_case`; `where` names the case and the index.
    """
    for case in suite.cases:
        limits = (config.vocab_size, config.max_position_embeddings, config.sliding_window)
        check_case(case, *limits)
